//! The plugin of code mode: JavaScript with a parser from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};
use crate::wit;

const FOLDER: &str = "plugins/code";

/// Builds `target/plugins/code.wasm`.
pub(crate) fn plugin(repo: &Repo) -> Result<()> {
    let from = repo.root.join(FOLDER);
    let component = repo.plugins().join("code.wasm");
    let parts = ["code.js", "src", "world.wit", "manifest.json"].map(|name| from.join(name));
    let wasi = wit::wasi(repo)?;
    let mut inputs = parts.to_vec();
    inputs.extend([repo.wit(), wasi.clone(), repo.clients().join("package-lock.json")]);
    let work = work(repo);
    unless_fresh(&work.join("stamp"), &inputs, &component, || {
        step(&format!("building {FOLDER}"), || {
            copy_sources(repo)?;
            let bound = work.join("wit");
            wit::gather(repo, &from.join("world.wit"), &wasi, &bound, strange)?;
            let script = work.join("code.js");
            fs::write(&script, strange(fs::read_to_string(from.join("code.js"))?))?;
            let built = work.join("built.wasm");
            let mut build = Command::new(repo.node_modules().join(".bin/componentize-qjs"));
            build.arg("--wit").arg(&bound).args(["--world", "code", "--js"]).arg(&script);
            build.arg("--module-root").arg(repo.target.join("node"));
            quiet(build.args(["--sync", "--opt-size", "--minify", "--output"]).arg(&built))?;
            familiar(&built)?;
            wit::with_manifest(&built, &from.join("manifest.json"), &component)?;
            Ok(fs::remove_file(built)?)
        })
    })
}

/// A namespace as long as `wasi:`, and a version that the embedded runtime does not use.
const STRANGE: &str = "wasx:";
const OLDER: &str = "0.2.8";

/// componentize-qjs runs the component once while it builds it. It provides WASI's own streams and replaces interfaces
/// that it does not know, such as `wasi:http`, by traps; the two then disagree about the type of a stream, and the
/// build fails. With a namespace that it does not know, every interface is a trap, and the types agree. The version
/// differs from that of the runtime's own imports, since a component imports each name once.
fn strange(text: String) -> String {
    text.replace("wasi:", STRANGE).replace("0.2.12", OLDER)
}

/// Restores the original names, in place.
fn familiar(component: &Path) -> Result<()> {
    let mut bytes = fs::read(component)?;
    let (strange, wasi) = (STRANGE.as_bytes(), b"wasi:");
    let found = bytes.windows(strange.len()).enumerate().filter(|(_, part)| *part == strange);
    for at in found.map(|(at, _)| at).collect::<Vec<_>>() {
        bytes[at..at + wasi.len()].copy_from_slice(wasi);
    }
    fs::write(component, bytes).with_context(|| format!("cannot write {}", component.display()))
}

/// Runs the tests of its parts, under Node.
pub(crate) fn test(repo: &Repo) -> Result<()> {
    copy_sources(repo)?;
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot"]).current_dir(work(repo));
    check(&mut node).context("plugins/code has failing tests")
}

/// Below the packages that it imports.
fn work(repo: &Repo) -> PathBuf {
    repo.target.join("node/code")
}

fn copy_sources(repo: &Repo) -> Result<()> {
    let (from, to) = (repo.root.join(FOLDER), work(repo));
    for folder in ["src", "tests"] {
        // Without files that are gone.
        if to.join(folder).exists() {
            fs::remove_dir_all(to.join(folder))?;
        }
        for entry in fs::read_dir(from.join(folder))? {
            let file = entry?.path();
            let name = file.file_name().context("a file has a name")?;
            copy_if_changed(&file, &to.join(folder).join(name))?;
        }
    }
    fs::write(to.join("package.json"), "{ \"type\": \"module\" }\n").context("cannot write the package")
}
