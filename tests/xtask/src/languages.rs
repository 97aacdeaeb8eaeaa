//! Plugins that `portcullis build` makes: that of the behaviour suite in each language, and those of `plugins/` that are not in Rust.

use std::path::Path;

use anyhow::Result;

use crate::command::{quiet, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;
use crate::{built, wasm};

/// Builds the plugin of the behaviour suite in each language: `target/languages/<language>.wasm`.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    wasm::polyglot(repo)?;
    for language in ["javascript", "python"] {
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
    let sdk = match language {
        "python" => "guest-sdk/python/src/portcullis_guest",
        _ => "guest-sdk/javascript/src",
    };
    let of_host = ["host/src/cli/build", "guest-sdk/wasi", sdk].map(|path| repo.root.join(path));
    let tools = repo.root.join("guest-sdk/toolchains").join(language);
    let inputs = [vec![from.clone(), repo.wit(), tools], of_host.to_vec()].concat();
    let stamp = repo.target.join("built").join(folder.replace('/', "-"));
    unless_fresh(&stamp, &inputs, to, || {
        built::host(repo)?;
        step(&format!("building {folder}"), || {
            std::fs::create_dir_all(to.parent().unwrap_or(&repo.target))?;
            quiet(repo.portcullis().arg("build").arg(&from).arg("--output").arg(to))
        })
    })
}
