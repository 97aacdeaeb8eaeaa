//! The plugin of the behaviour suite in each language: `target/languages/<language>.wasm`.

use std::path::PathBuf;

use anyhow::Result;

use crate::repo::Repo;
use crate::{c, go, wasm};

/// Builds all of them.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    wasm::polyglot(repo)?;
    c::component(repo, "tests/languages/c", "polyglot", &component(repo, "c"))?;
    go::component(repo, "tests/languages/go", "polyglot", &component(repo, "go"))
}

/// The component of a language.
fn component(repo: &Repo, language: &str) -> PathBuf {
    repo.target.join("languages").join(language).with_extension("wasm")
}
