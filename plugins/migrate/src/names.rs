//! Names of modules.

use std::collections::BTreeSet;

/// What CommonJS lets a name leave out, and what an ES module has to say: the name of the file once it is compiled.
const ENDINGS: [(&str, &str); 6] = [
    (".ts", ".js"),
    (".tsx", ".js"),
    (".js", ".js"),
    ("/index.ts", "/index.js"),
    ("/index.tsx", "/index.js"),
    ("/index.js", "/index.js"),
];

/// The name with what it leaves out, if `importer` means one of the files by it.
pub(crate) fn whole_name(name: &str, importer: &str, files: &BTreeSet<String>) -> Option<String> {
    let name = name.trim_end_matches('/');
    let mut path: Vec<&str> = importer.split('/').collect();
    path.pop();
    for part in name.starts_with('.').then(|| name.split('/'))? {
        match part {
            "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    let path = path.join("/");
    let exists = |ending: &str| files.contains(format!("{path}{ending}").trim_start_matches('/'));
    let (_, ending) = ENDINGS.into_iter().find(|(ending, _)| exists(ending))?;
    Some(format!("{name}{ending}"))
}

/// The package that a module belongs to. Relative ones and those of Node.js, such as `node:fs`, belong to none.
pub(crate) fn package(name: &str) -> Option<&str> {
    let slash = if name.starts_with('@') { 1 } else { 0 };
    let end = name.match_indices('/').nth(slash).map_or(name.len(), |(at, _)| at);
    (!name.starts_with(['.', '/']) && !name.starts_with("node:")).then(|| &name[..end])
}
