//! The program around the rmcp client. It is a workspace of its own, because the client's features would otherwise be
//! built into the host as well.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{check, step};
use crate::repo::Repo;

/// Builds it into the main workspace's target folder, so that shared dependencies are compiled once.
pub(crate) fn client(repo: &Repo) -> Result<()> {
    step("building tests/clients/rmcp", || {
        let mut build = repo.cargo();
        build
            .args(["build", "--locked", "--all-targets", "--manifest-path"])
            .arg(repo.clients().join("rmcp/Cargo.toml"));
        check(build.arg("--target-dir").arg(repo.cargo_target()))
    })
}

pub(crate) fn program(repo: &Repo) -> PathBuf {
    repo.binary("debug", "asking-rmcp")
}
