//! Node: the pinned TypeScript client and `componentize-qjs`, and the plugin written in JavaScript.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{output, quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};
use crate::wit;

/// Makes `target/node` from `tests/clients/package.json` and its lock file.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    install(&repo.clients(), &repo.target.join("node"), "installing the Node packages", &[])
}

/// Installs below `to` the packages that `package.json` and its lock file in `from` name, with further options for npm.
pub(crate) fn install(from: &Path, to: &Path, what: &str, options: &[&str]) -> Result<()> {
    let inputs = ["package.json", "package-lock.json"].map(|name| from.join(name));
    unless_fresh(&to.join(format!("stamp{}", options.concat())), &inputs, &to.join("node_modules"), || {
        check_version()?;
        step(what, || {
            for input in &inputs {
                copy_if_changed(input, &to.join(input.file_name().context("a lock file has a name")?))?;
            }
            let mut npm = Command::new("npm");
            // The lock file has versions and digests but no addresses, so any registry or mirror works. Not `npm ci`:
            // it insists on entries for all of componentize-qjs's optional builds, published or not.
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
            quiet(npm.args(options).current_dir(to))
                .context("npm could not install; it needs a package registry within reach")
        })
    })
}

/// Builds `target/plugins/<to>.wasm` from the script and the world of this name in a folder.
pub(crate) fn component(repo: &Repo, folder: &str, name: &str, to: &str) -> Result<()> {
    let component = repo.plugins().join(format!("{to}.wasm"));
    let from = repo.root.join(folder);
    let script = format!("{name}.js");
    let [source, world, manifest] = [&script, "world.wit", "manifest.json"].map(|name| from.join(name));
    let wasi = wit::wasi(repo)?;
    let lock = repo.clients().join("package-lock.json");
    let inputs = [source.clone(), world.clone(), manifest.clone(), repo.wit(), wasi.clone(), lock];
    let work = repo.target.join(to);
    unless_fresh(&work.join("stamp"), &inputs, &component, || {
        step(&format!("building {folder}"), || {
            let (bound, script) = (work.join("wit"), work.join(&script));
            wit::gather(repo, &world, &wasi, &bound, strange)?;
            fs::write(&script, strange(fs::read_to_string(&source)?))?;
            let built = work.join("built.wasm");
            let mut build = Command::new(repo.node_modules().join(".bin/componentize-qjs"));
            build.arg("--wit").arg(&bound).args(["--world", name, "--js"]).arg(&script);
            // --sync: the interfaces are sync-typed, and the host runs without the component model's async part.
            quiet(build.args(["--sync", "--opt-size", "--output"]).arg(&built))?;
            familiar(&built)?;
            wit::with_manifest(&built, &manifest, &component)?;
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

fn check_version() -> Result<()> {
    let need = "Node 20 or newer with npm is needed for the TypeScript client and the JavaScript plugin";
    let version = output(Command::new("node").arg("--version")).context(need)?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < 20) {
        bail!("{need}; this one is {}", version.trim());
    }
    Ok(())
}
