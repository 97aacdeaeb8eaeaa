//! The plugin of the behaviour suite in each language: `target/languages/<language>.wasm`.

use anyhow::Result;

use crate::repo::Repo;
use crate::wasm;

/// Builds all of them.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    wasm::polyglot(repo)
}
