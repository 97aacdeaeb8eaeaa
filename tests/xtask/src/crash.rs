//! `cargo xtask crash`: takes away the power while the durable store is written.

use anyhow::{Result, bail};

use crate::command;
use crate::repo::Repo;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Records what a process writes and syncs (with strace), makes the disks that a loss of power could leave, and checks
    /// that nothing acknowledged is missing; once with a disk that works, and once with one on which syncing fails.
    #[arg(long)]
    power_loss: bool,
    /// Losses of power of each kind.
    #[arg(long, default_value_t = 250)]
    images: u32,
    /// Seed; random by default.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    if !options.power_loss {
        bail!("say what is to happen: --power-loss");
    }
    let mut crash = command::cargo();
    crash.args(["run", "--quiet", "-p", "crash", "--", "power-loss", "--images", &options.images.to_string()]);
    if let Some(seed) = options.seed {
        crash.args(["--seed", &seed.to_string()]);
    }
    command::check(crash.current_dir(&repo.root))
}
