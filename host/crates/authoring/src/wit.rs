//! The WIT of one plugin: our package, what it needs of WASI, and the world of what it exports and imports.

use crate::embedded;
use anyhow::Context;
use std::fs;
use std::path::Path;

/// The world's name.
pub(crate) const WORLD: &str = "built";
/// The version of WASI's interfaces that are provided.
pub(crate) const VERSION: &str = "0.2.12";
/// The interface that a plugin imports to send requests.
pub(crate) const HTTP: &str = "http/outgoing-handler";

/// Writes everything into a folder, which contains nothing else. `change` is applied to each file.
pub(crate) fn write(to: &Path, world: &str, change: impl Fn(String) -> String) -> anyhow::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot empty {}", to.display()))?;
    }
    let put = |name: &str, text: String| {
        let path = to.join(name);
        let written = fs::create_dir_all(path.parent().unwrap_or(to)).and_then(|()| fs::write(&path, change(text)));
        written.with_context(|| format!("cannot write {}", path.display()))
    };
    let ours = embedded::below("wit").map(|(name, bytes)| (format!("deps/portcullis/{name}"), bytes));
    let theirs = embedded::below("wasi").map(|(name, bytes)| (format!("deps/{name}"), bytes));
    for (name, bytes) in ours.chain(theirs) {
        put(&name, String::from_utf8_lossy(bytes).into_owned())?;
    }
    put("world.wit", world.to_owned())
}

/// All that a plugin may import, and these interfaces of WASI.
pub(crate) fn all_imports(wasi: &[&str]) -> Vec<String> {
    let world = embedded::below("wit").find(|(name, _)| *name == "world.wit");
    let world = world.map_or_else(String::new, |(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
    let own = world.lines().filter_map(|line| line.trim().strip_prefix("import ")?.strip_suffix(';'));
    let own = own.map(|name| format!("portcullis:plugin/{name}@0.1.0"));
    own.chain(wasi.iter().map(|name| format!("wasi:{name}@{VERSION}"))).collect()
}

/// The full name of an interface that a plugin exports.
pub(crate) fn full_name(name: &str) -> String {
    format!("portcullis:plugin/{name}@0.1.0")
}

/// The world of a plugin that imports and exports these, and exports these functions: each a declaration of WIT.
pub(crate) fn world(exports: &[String], imports: &[String], functions: &[String]) -> String {
    let imports = imports.iter().map(|name| format!("    import {name};\n"));
    let exports = exports.iter().map(|name| format!("    export {};\n", full_name(name)));
    let functions = functions.iter().map(|function| format!("    export {function};\n"));
    let items: String = imports.chain(exports).chain(functions).collect();
    format!("package portcullis:build;\n\nworld {WORLD} {{\n{items}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_has_all_imports_and_the_exports_that_there_are() {
        let text = world(&["tools".into(), "prompts".into()], &all_imports(&[HTTP]), &["run: func()".into()]);
        for line in [
            "import portcullis:plugin/output@0.1.0;",
            "import wasi:http/",
            "export portcullis:plugin/prompts@0.1.0;",
            "export run: func();",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!world(&["tools".into()], &all_imports(&[]), &[]).contains("wasi:http"));
        assert!(text.matches("import portcullis:plugin/").count() >= 12, "{text}");
    }
}
