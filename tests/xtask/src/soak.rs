//! `cargo xtask soak`: the tests that do something very often, whole. Every run of the tests does a tenth of each.

use anyhow::Result;

use crate::repo::Repo;
use crate::{built, document, hostile, setup};

/// The page with the figures of the last whole run.
const PAGE: &str = "host/docs/soak.md";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Writes the figures into host/docs/soak.md.
    #[arg(long)]
    write: bool,
}

/// Builds, runs, prints; fails when a figure is out of its bound.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    // These are the programs that `cargo xtask test` builds.
    let repo = &repo.linting();
    setup::for_hostile(repo)?;
    built::host(repo)?;
    let table = hostile::soaks(repo)?;
    if options.write { document::replace(repo, PAGE, "soak", &table) } else { Ok(()) }
}
