//! The WIT of one plugin: our package, what it needs of WASI, and the world of what it exports and imports.

use super::embedded;
use anyhow::Context;
use std::fs;
use std::path::Path;

/// The world's name.
pub(super) const WORLD: &str = "built";
/// The version of what is there of WASI.
pub(super) const VERSION: &str = "0.2.12";
/// What a plugin imports that sends requests.
pub(super) const HTTP: &str = "http/outgoing-handler";

/// Writes everything into a folder, which contains nothing else; `wasi` are the interfaces that it imports of WASI, and `change` is
/// applied to each file.
pub(super) fn write(
    to: &Path,
    exports: &[String],
    wasi: &[&str],
    change: impl Fn(String) -> String,
) -> anyhow::Result<()> {
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
    put("world.wit", world(exports, wasi))
}

/// The world `plugin` without its export, and what the plugin exports.
fn world(exports: &[String], wasi: &[&str]) -> String {
    let mut text = format!("package portcullis:build;\n\nworld {WORLD} {{\n");
    let imports = embedded::below("wit").find(|(name, _)| *name == "world.wit");
    let imports = imports.map_or_else(String::new, |(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
    let own = imports.lines().filter_map(|line| line.trim().strip_prefix("import ")?.strip_suffix(';'));
    for name in own {
        text += &format!("    import portcullis:plugin/{name}@0.1.0;\n");
    }
    for name in wasi {
        text += &format!("    import wasi:{name}@{VERSION};\n");
    }
    for name in exports {
        text += &format!("    export portcullis:plugin/{name}@0.1.0;\n");
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_has_all_imports_and_the_exports_that_there_are() {
        let text = world(&["tools".into(), "prompts".into()], &[HTTP]);
        for line in
            ["import portcullis:plugin/output@0.1.0;", "import wasi:http/", "export portcullis:plugin/prompts@0.1.0;"]
        {
            assert!(text.contains(line), "{text}");
        }
        assert!(!world(&["tools".into()], &[]).contains("wasi:http"));
        assert!(text.matches("import portcullis:plugin/").count() >= 12, "{text}");
    }
}
