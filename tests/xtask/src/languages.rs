//! Plugins that `portcullis build` makes: that of the behaviour suite in each language, and those of `plugins/` that are not in Rust.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, quiet, step};
use crate::guest_libraries::{self, Language};
use crate::repo::Repo;
use crate::stamp::{folders, unless_fresh};

/// Builds the plugin of the behaviour suite in each language but Rust: `target/languages/<language>.wasm`; and `typed.wasm`, whose schemas
/// are made of types of TypeScript, and `libraries-<language>.wasm`, which use libraries of others.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    for language in ["javascript", "python", "c", "go"] {
        let to = repo.languages().join(format!("{language}.wasm"));
        component(repo, &format!("tests/languages/{language}"), language, &to)?;
    }
    component(repo, "tests/languages/typed", "javascript", &repo.languages().join("typed.wasm"))?;
    Language::ALL.into_iter().try_for_each(|language| guest_libraries::of_tests(repo, language))
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
    let mut inputs = vec![from.clone(), repo.wit()];
    inputs.extend(["host/crates/authoring", "guest-sdk/wasi"].map(|path| repo.root.join(path)));
    inputs.extend(folders(&repo.root.join("guest-sdk").join(language))?);
    inputs.extend(folders(&repo.root.join("guest-sdk/toolchains"))?);
    let stamp = repo.target.join("built").join(folder.replace('/', "-"));
    unless_fresh(&stamp, &inputs, to, || {
        step(&format!("building {folder}"), || {
            std::fs::create_dir_all(to.parent().unwrap_or(&repo.target))?;
            quiet(repo.portcullis().arg("build").arg(&from).arg("--output").arg(to))
        })
    })
}
