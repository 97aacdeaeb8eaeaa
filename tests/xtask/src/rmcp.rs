//! The program around the rmcp client. It is a workspace of its own, because the client's features would otherwise be
//! built into the host as well.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{cargo, check, step};
use crate::repo::Repo;

/// Builds it into the main workspace's target folder, so that shared dependencies are compiled once.
pub(crate) fn client(repo: &Repo) -> Result<()> {
    step("building tests/clients/rmcp", || {
        let mut build = cargo();
        build.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(manifest(repo));
        check(build.arg("--target-dir").arg(repo.cargo_target()).current_dir(&repo.root))
    })
}

pub(crate) fn manifest(repo: &Repo) -> PathBuf {
    repo.clients().join("rmcp/Cargo.toml")
}

pub(crate) fn program(repo: &Repo) -> PathBuf {
    repo.binary("debug", "asking-rmcp")
}
