//! `cargo xtask bench`: the host beside a native server, both in release builds.

use std::process::Command;

use anyhow::Result;

use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::setup;

/// Builds and starts the benchmark; `args` go to it.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<()> {
    setup::for_bench(repo)?;
    step("building the host and the benchmark in release", || {
        check(
            cargo().args(["build", "--release", "--quiet", "-p", "portcullis", "-p", "bench"]).current_dir(&repo.root),
        )
    })?;
    let mut bench = Command::new(repo.binary("release", "bench"));
    bench.arg("--portcullis").arg(repo.binary("release", "portcullis"));
    check(bench.arg("--plugins").arg(repo.plugins()).args(args).current_dir(&repo.root))
}
