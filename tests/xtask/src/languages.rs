//! Plugins that `portcullis build` makes: that of the behaviour suite in each language, and those of `plugins/` that are not in Rust.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::command::{quiet, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;
use crate::{built, wasm};

/// Builds the plugin of the behaviour suite in each language: `target/languages/<language>.wasm`.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    wasm::polyglot(repo)?;
    for language in ["javascript", "python", "c", "go"] {
        let to = repo.languages().join(format!("{language}.wasm"));
        component(repo, &format!("tests/languages/{language}"), language, &to)?;
    }
    Ok(())
}

/// Builds `target/plugins/<name>.wasm` from a folder of `plugins/`.
pub(crate) fn plugin(repo: &Repo, name: &str, language: &str) -> Result<()> {
    component(repo, &format!("plugins/{name}"), language, &repo.plugins().join(format!("{name}.wasm")))
}

/// Builds a folder as an author does, with the SDK that the host has.
fn component(repo: &Repo, folder: &str, language: &str, to: &Path) -> Result<()> {
    let from = repo.root.join(folder);
    let mut inputs = vec![from.clone(), repo.wit()];
    inputs.extend(["host/src/cli/build", "guest-sdk/wasi"].map(|path| repo.root.join(path)));
    for folder in [repo.root.join("guest-sdk").join(language), repo.root.join("guest-sdk/toolchains").join(language)] {
        inputs.extend(folders(&folder)?);
    }
    let stamp = repo.target.join("built").join(folder.replace('/', "-"));
    unless_fresh(&stamp, &inputs, to, || {
        built::host(repo)?;
        step(&format!("building {folder}"), || {
            std::fs::create_dir_all(to.parent().unwrap_or(&repo.target))?;
            quiet(repo.portcullis().arg("build").arg(&from).arg("--output").arg(to))
        })
    })
}

/// A folder and all folders below it, if it is there.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    if of.is_dir() {
        all.push(of.to_owned());
        for entry in std::fs::read_dir(of)? {
            all.extend(folders(&entry?.path())?);
        }
    }
    all.sort();
    Ok(all)
}
