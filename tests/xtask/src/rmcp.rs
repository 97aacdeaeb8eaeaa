//! The programs around the rmcp client.

use std::path::PathBuf;

use anyhow::Result;

use crate::built;
use crate::command::step;
use crate::repo::Repo;

pub(crate) fn clients(repo: &Repo) -> Result<()> {
    let names = ["asking-rmcp", "planning-rmcp", "long-job-rmcp"];
    step("building tests/clients/rmcp", || built::programs(repo, &names))
}

pub(crate) fn program(repo: &Repo) -> PathBuf {
    repo.binary("debug", "asking-rmcp")
}
