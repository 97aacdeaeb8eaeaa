//! The program around the rmcp client: a workspace of its own, because the client's features would otherwise be built
//! into the host as well.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{cargo, check, step};
use crate::repo::Repo;

/// Builds it into the workspace's own target folder: what both workspaces depend on is compiled once.
pub(crate) fn client(repo: &Repo) -> Result<()> {
    step("building tests/clients/rmcp", || {
        let mut build = cargo();
        build.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(manifest(repo));
        check(build.arg("--target-dir").arg(repo.cargo_target()).current_dir(&repo.root))
    })
}

/// Where its workspace is.
pub(crate) fn manifest(repo: &Repo) -> PathBuf {
    repo.clients().join("rmcp/Cargo.toml")
}

/// The program.
pub(crate) fn program(repo: &Repo) -> PathBuf {
    repo.binary("debug", "asking-rmcp")
}
