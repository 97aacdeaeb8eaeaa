//! `cargo xtask clients`: compares what every real client sees, side by side, when a guest asks it questions and when a
//! plugin calls it back through every lane.

use anyhow::{Context, Result};

use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::{checks, setup};

/// The guest that asks the questions.
const GUESTS: [&str; 1] = ["ask"];

/// Sets up all clients and prints both tables; fails unless all clients see the same.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::for_clients(repo, &GUESTS)?;
    // Built one after another: together they would unify their features, and everything would be rebuilt.
    for (what, package) in [("the host", "portcullis"), ("the comparison", "suite")] {
        step(&format!("building {what}"), || {
            check(cargo().args(["build", "--quiet", "--bins", "-p", package]).current_dir(&repo.root))
        })?;
    }
    let mut compare = std::process::Command::new(repo.binary("debug", "transcripts"));
    check(checks::with_peers(repo, &mut compare).current_dir(&repo.root)).context("not every client sees the same")
}
