//! `cargo xtask hostile`: runs every figure about attacks, one test after the other, and prints them in one table.

mod figures;
mod mutant;
mod mutants;
mod programs;
mod weaken;

use anyhow::Result;

use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::setup;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these figures, with commas between.
    #[arg(long, conflicts_with = "mutants", value_delimiter = ',', value_name = "FIGURE")]
    only: Vec<String>,
    /// Takes away one security check after the other, in a copy of the host, and shows that a test notices each: all, or
    /// those named.
    #[arg(long, num_args = 0.., value_name = "NAME")]
    mutants: Option<Vec<String>>,
}

/// Sets up, runs, prints; fails when a figure is not what it must be.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    setup::for_hostile(repo)?;
    if let Some(names) = &options.mutants {
        return mutants::run(repo, names);
    }
    step("building the host", || check(cargo().args(["build", "--quiet", "--workspace"]).current_dir(&repo.root)))?;
    figures::run(repo, &options.only)
}
