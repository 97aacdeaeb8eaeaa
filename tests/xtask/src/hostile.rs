//! `cargo xtask hostile`: runs all tests about attacks, one after another, and prints their figures in one table.

mod figures;
mod mutant;
mod mutants;
mod programs;
mod weaken;

use anyhow::Result;

use crate::repo::Repo;
use crate::{built, setup};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these figures, separated by commas.
    #[arg(long, conflicts_with = "mutants", value_delimiter = ',', value_name = "FIGURE")]
    only: Vec<String>,
    /// Removes security checks one at a time, in a copy of the host, and verifies that a test fails for each: all
    /// checks, or only those named.
    #[arg(long, num_args = 0.., value_name = "NAME")]
    mutants: Option<Vec<String>>,
}

/// Sets up, runs, prints; fails when a figure is out of its bound.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    setup::for_hostile(repo)?;
    if let Some(names) = &options.mutants {
        return mutants::run(repo, names);
    }
    built::host(repo)?;
    figures::run(repo, &options.only).map(drop)
}

/// Runs only what is done very often, and returns the figures as a table of a page.
pub(crate) fn soaks(repo: &Repo) -> Result<String> {
    figures::run(repo, &figures::SOAKS.map(str::to_owned))
}
