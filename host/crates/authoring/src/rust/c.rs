//! C in crates, such as SQLite in `rusqlite`: their build scripts ask for a compiler for WASI, which is that of plugins in C.

use crate::command::quiet;
use crate::environment::BuildEnvironment;
use crate::project::Project;
use crate::toolchain;
use anyhow::Context;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const TARGET: &str = "wasm32-wasip2";
pub(crate) const RUST: &str = "Rust builds plugins in Rust: https://rustup.rs";

/// The crate with which build scripts compile C.
const BUILDER: &str = "cc";
/// Names a compiler and an archiver to cargo's build scripts, if there is C to compile and the author has chosen none.
pub(crate) fn provide(cargo: &mut Command, project: &Project, environment: &BuildEnvironment) -> anyhow::Result<()> {
    if environment.has_c_compiler || !compiles_c(&project.folder)? {
        return Ok(());
    }
    let python = toolchain::c(environment)?;
    let cache = python.parent().unwrap_or(&python).with_file_name("cache");
    cargo.env("ZIG_GLOBAL_CACHE_DIR", &cache).env("ZIG_LOCAL_CACHE_DIR", &cache);
    for (name, variable, text) in
        [("cc", "CC_wasm32_wasip2", compiler(&python)), ("ar", "AR_wasm32_wasip2", archiver(&python))]
    {
        cargo.env(variable, script(project, name, &text)?);
    }
    Ok(())
}

/// Whether cargo builds a crate for this target that compiles C in its build script.
fn compiles_c(folder: &Path) -> anyhow::Result<bool> {
    let mut ask = Command::new("cargo");
    ask.args(["metadata", "--format-version=1", "--quiet", "--filter-platform", TARGET]).current_dir(folder);
    let said: Value = serde_json::from_str(&quiet(&mut ask, RUST)?).context("cargo metadata has not answered")?;
    Ok(has_builder(&said))
}

/// Looks at what is resolved for the target: `packages` also has what other platforms need.
fn has_builder(metadata: &Value) -> bool {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let mut used = nodes.flat_map(|node| node["deps"].as_array().into_iter().flatten());
    used.any(|dependency| dependency["name"].as_str().is_some_and(|name| name == BUILDER))
}

/// Build scripts name the target as Rust does; to this compiler it is `wasm32-wasi`.
fn compiler(python: &Path) -> String {
    format!(
        "#!/bin/sh\nfor argument do\n    shift\n    case \"$argument\" in --target=*) ;; *) set -- \"$@\" \"$argument\" ;; esac\ndone\n\
         exec {} -I -m ziglang cc -target wasm32-wasi \"$@\"\n",
        quoted(python)
    )
}

fn archiver(python: &Path) -> String {
    format!("#!/bin/sh\nexec {} -I -m ziglang ar \"$@\"\n", quoted(python))
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Writes a script only if it differs, since build scripts run again when it changes.
fn script(project: &Project, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = project.work().join(name);
    if fs::read_to_string(&path).ok().as_deref() != Some(text) {
        let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crate_that_compiles_c_is_noticed() {
        let with = |name: &str| json!({ "packages": [{ "name": "cc" }], "resolve": { "nodes": [{ "deps": [{ "name": name }] }] } });
        assert!(has_builder(&with("cc")));
        assert!(!has_builder(&with("serde")));
    }

    #[test]
    fn the_compiler_is_given_all_but_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("it's");
        fs::write(&python, "#!/bin/sh\nprintf '<%s>' \"$@\"\n").unwrap();
        fs::set_permissions(&python, Permissions::from_mode(0o755)).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &compiler(&python), "cc", "-O2", "--target=wasm32-wasip2", "-DA=\"b c\"", "a b.c"]);
        let expected = "<-I><-m><ziglang><cc><-target><wasm32-wasi><-O2><-DA=\"b c\"><a b.c>";
        assert_eq!(quiet(&mut shell, "").unwrap(), expected);
    }
}
