//! Installs the agents of `tests/clients/agents` below `target/agents`: programs that people use, in pinned versions.

use anyhow::Result;

use crate::repo::Repo;
use crate::{node, python};

/// The one that the tests use, which is small.
pub(crate) fn one(repo: &Repo) -> Result<()> {
    node::install(&repo.clients().join("agents"), &repo.agents(), "installing an agent", &["--omit=dev"])
}

/// All of them. One is in Python and left out where none is new enough.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    let from = repo.clients().join("agents");
    node::install(&from, &repo.agents(), "installing the agents", &["--include=dev"])?;
    if let Err(error) = python::install(&from.join("requirements.txt"), &repo.agents().join("venv"), (3, 12)) {
        eprintln!("  without fast-agent: {error:#}");
    }
    Ok(())
}
