//! `cargo xtask crash`: takes away the power while the durable store is written, and kills the host while tasks run; and says what
//! it costs to be prepared for that.

use std::fs;

use anyhow::{Result, bail};

use crate::command;
use crate::repo::Repo;
use crate::{built, setup};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Records what a process writes and syncs (with strace), makes the disks that a loss of power could leave, and checks
    /// that nothing acknowledged is missing; once with a disk that works, and once with one on which syncing fails.
    #[arg(long)]
    power_loss: bool,
    /// Ends the host this often, at each change that a task makes in its store and at random moments under load, and checks
    /// that nothing is lost or done twice.
    #[arg(long)]
    rounds: Option<u32>,
    /// Kills the host with so many open tasks, and says how long it takes until it serves again.
    #[arg(long)]
    open_tasks: Option<u32>,
    /// Runs a hundred thousand random programs over the journal of calls, and ten thousand each over files and over HTTP, all
    /// killed wherever it happens, and checks that each goes on as if it had not been.
    #[arg(long)]
    programs: bool,
    /// Makes so many random trees of calls, and checks that each is charged what its calls have used.
    #[arg(long)]
    trees: Option<u32>,
    /// Measures, in a release build, how fast the store keeps steps that survive the process, or a loss of power, and reads them.
    #[arg(long)]
    figures: bool,
    /// Losses of power of each kind.
    #[arg(long, default_value_t = 250)]
    images: u32,
    /// Seed; random by default.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    let is_any = options.power_loss || options.programs || options.figures;
    if !is_any && [options.rounds, options.open_tasks, options.trees].iter().all(Option::is_none) {
        bail!("say what is to happen: --rounds N, --open-tasks N, --trees N, --programs, --power-loss or --figures");
    }
    if options.programs {
        let mut test = command::cargo();
        test.args([
            "test",
            "--quiet",
            "--workspace",
            "--lib",
            "--",
            "--ignored",
            "program_tests",
            "random_replay_tests",
        ]);
        command::check(test.current_dir(&repo.root))?;
    }
    if let Some(rounds) = options.rounds {
        suite(repo, "tasks::crash", ("PORTCULLIS_CRASH_ROUNDS", rounds))?;
    }
    if let Some(tasks) = options.open_tasks {
        suite(repo, "tasks::restart", ("PORTCULLIS_OPEN_TASKS", tasks))?;
    }
    if let Some(trees) = options.trees {
        suite(repo, "fuel_trees", ("PORTCULLIS_TREES", trees))?;
    }
    if options.power_loss {
        lose_power(repo, options)?;
    }
    match options.figures {
        true => measure(repo),
        false => Ok(()),
    }
}

/// Measures the store in a fresh folder of the target directory.
fn measure(repo: &Repo) -> Result<()> {
    let folder = repo.target.join("figures");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut crash = command::cargo();
    crash.args(["run", "--release", "--quiet", "-p", "crash", "--", "figures"]).arg(&folder);
    command::check(crash.current_dir(&repo.root))
}

/// Runs these tests, so often or with so many.
fn suite(repo: &Repo, tests: &str, (variable, count): (&str, u32)) -> Result<()> {
    setup::for_hostile(repo)?;
    built::host(repo)?;
    let mut test = command::cargo();
    test.args(["test", "--quiet", "--workspace", "--test", "suite", "--", tests, "--nocapture"]);
    test.args(["--test-threads", "1"]).env(variable, count.to_string());
    command::check(test.current_dir(&repo.root))
}

fn lose_power(repo: &Repo, options: &Options) -> Result<()> {
    let mut crash = command::cargo();
    crash.args(["run", "--quiet", "-p", "crash", "--", "power-loss", "--images", &options.images.to_string()]);
    if let Some(seed) = options.seed {
        crash.args(["--seed", &seed.to_string()]);
    }
    command::check(crash.current_dir(&repo.root))
}
