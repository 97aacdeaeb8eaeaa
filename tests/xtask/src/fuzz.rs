//! `cargo xtask fuzz`: runs the fuzz targets for code that parses untrusted bytes, for a chosen time. The targets and
//! the driver are in the host (`host/src/fuzzing`); every test run also executes them briefly with a fixed seed.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Result, bail};

use crate::command;
use crate::repo::Repo;

/// The test that fuzzes one target for a given number of seconds.
const TEST: &str = "fuzzing::driver::fuzz_one_target";

/// Which target to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The target to fuzz; without it, all targets run in turn.
    target: Option<String>,
    /// Seconds to spend on each target.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Seed for the mutations; random by default.
    #[arg(long)]
    seed: Option<u64>,
}

/// Builds the targets and runs them. Inputs that reached new behaviour are kept below `target/fuzz`, and the next run
/// starts from them; an input that fails is printed.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    let (corpus, out) = (repo.root.join("tests/fuzz/corpus"), repo.target.join("fuzz"));
    let names = targets(&corpus)?;
    let chosen: Vec<_> = names.iter().filter(|name| options.target.as_ref().is_none_or(|one| one == *name)).collect();
    if chosen.is_empty() {
        bail!("no such target; there are {}", names.join(", "));
    }
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    command::step("building the fuzz targets", || {
        command::quiet(command::cargo().args(["test", "--workspace", "--lib", "--no-run"]).current_dir(&repo.root))
    })?;
    for name in chosen {
        fs::create_dir_all(out.join(name))?;
        let told = format!("{name} {} {seed} {}", options.seconds, out.display());
        let mut fuzz = command::cargo();
        fuzz.args(["test", "--quiet", "--workspace", "--lib", "--", "--ignored", "--exact", "--nocapture", TEST]);
        let ran = fuzz.env("PORTCULLIS_FUZZ", told).current_dir(&repo.root).stderr(Stdio::inherit()).output()?;
        let said = String::from_utf8_lossy(&ran.stdout);
        if !ran.status.success() {
            print!("{said}");
            bail!("{name} fails, with --seed {seed}");
        }
        // The test programs also report how many tests they filtered out.
        let own = format!("{name}: ");
        said.lines().filter(|line| line.starts_with(&own)).for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// The targets that have a corpus.
fn targets(corpus: &Path) -> Result<Vec<String>> {
    let mut folders: Vec<PathBuf> = fs::read_dir(corpus)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.sort();
    Ok(folders.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
}
