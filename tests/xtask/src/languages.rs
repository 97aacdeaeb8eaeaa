//! Plugins that `portcullis build` makes: that of the behaviour suite in each language, and those of `plugins/` that are not in Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, quiet, step};
use crate::node;
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};

/// Builds the plugin of the behaviour suite in each language but Rust: `target/languages/<language>.wasm`; and `typed.wasm`, whose schemas
/// are made of types of TypeScript, and `npm.wasm`, which uses packages of npm.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    for language in ["javascript", "python", "c", "go"] {
        let to = repo.languages().join(format!("{language}.wasm"));
        component(repo, &format!("tests/languages/{language}"), language, &to)?;
    }
    component(repo, "tests/languages/typed", "javascript", &repo.languages().join("typed.wasm"))?;
    with_packages(repo)
}

/// The packages are installed beside a copy of the plugin.
fn with_packages(repo: &Repo) -> Result<()> {
    let (from, copy) = (repo.root.join("tests/languages/npm"), repo.target.join("npm-plugin"));
    node::install(&from, &copy, "installing the packages of tests/languages/npm", &[])?;
    copy_if_changed(&from.join("plugin.ts"), &copy.join("plugin.ts"))?;
    built(repo, &from, &copy, "javascript", &repo.languages().join("npm.wasm"))
}

/// Builds `target/plugins/<name>.wasm` from a folder of `plugins/`.
pub(crate) fn plugin(repo: &Repo, name: &str, language: &str) -> Result<()> {
    component(repo, &format!("plugins/{name}"), language, &repo.plugins().join(format!("{name}.wasm")))
}

/// Runs the SDKs' own tests, against their fake hosts.
pub(crate) fn test(repo: &Repo) -> Result<()> {
    let mut pytest = Command::new(repo.python());
    // -B writes no bytecode beside the sources.
    pytest.args(["-B", "-m", "pytest", "-q"]).current_dir(repo.root.join("guest-sdk/python"));
    check(&mut pytest).context("the SDK for Python has failing tests")?;
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot"]).current_dir(repo.root.join("guest-sdk/javascript"));
    check(&mut node).context("the SDK for JavaScript has failing tests")
}

/// Builds a folder as an author does, with the SDK that the host has.
fn component(repo: &Repo, folder: &str, language: &str, to: &Path) -> Result<()> {
    let from = repo.root.join(folder);
    built(repo, &from, &from, language, to)
}

/// The same of a folder, or of a copy of it.
fn built(repo: &Repo, from: &Path, copy: &Path, language: &str, to: &Path) -> Result<()> {
    let folder = from.strip_prefix(&repo.root).unwrap_or(from).display().to_string();
    let mut inputs = vec![from.to_owned(), repo.wit()];
    inputs.extend(["host/src/cli/build", "guest-sdk/wasi"].map(|path| repo.root.join(path)));
    inputs.extend(folders(&repo.root.join("guest-sdk").join(language))?);
    inputs.extend(folders(&repo.root.join("guest-sdk/toolchains"))?);
    let stamp = repo.target.join("built").join(folder.replace('/', "-"));
    unless_fresh(&stamp, &inputs, to, || {
        step(&format!("building {folder}"), || {
            std::fs::create_dir_all(to.parent().unwrap_or(&repo.target))?;
            quiet(repo.portcullis().arg("build").arg(copy).arg("--output").arg(to))
        })
    })
}

/// A folder and all folders of sources below it, if it is there.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    if of.is_dir() && !["__pycache__", "node_modules", "tests"].iter().any(|name| of.ends_with(name)) {
        all.push(of.to_owned());
        for entry in std::fs::read_dir(of)? {
            all.extend(folders(&entry?.path())?);
        }
    }
    all.sort();
    Ok(all)
}
