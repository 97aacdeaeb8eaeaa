//! Installs the public MCP servers of `tests/clients/servers` below `target/servers`, in pinned versions.

use std::path::PathBuf;

use anyhow::Result;

use crate::repo::Repo;
use crate::{node, python};

/// The folder with the servers that are installed.
pub(crate) fn folder(repo: &Repo) -> PathBuf {
    repo.target.join("servers")
}

/// All of them.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    let (from, to) = (repo.clients().join("servers"), folder(repo));
    for environment in ["current", "older"] {
        python::install(&from.join(format!("{environment}.txt")), &to.join(environment), python::LEAST)?;
    }
    // What is optional is 200 MB of programs that no server needs for a list of its tools.
    node::install(&from, &to.join("node"), "installing the servers in JavaScript", &["--omit=optional"])
}
