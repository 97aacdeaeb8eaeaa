//! Fuzzing by coverage: libFuzzer over the targets of `tests/fuzz`. Works with the stable compiler, since what the code
//! counts is a pass of LLVM; sanitizers would need another one, and there is next to no `unsafe` to look for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::command;
use crate::repo::Repo;

/// What makes LLVM count edges, and tell libFuzzer which values were compared.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A target; none: one after the other.
    target: Option<String>,
    /// How long for each.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
}

/// Builds the targets and runs them. New inputs are kept below `target/fuzz`; one that fails is written there and named.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    let (source, out) = (repo.root.join("tests/fuzz"), repo.target.join("fuzz"));
    let names = targets(&source)?;
    let chosen: Vec<_> = names.iter().filter(|name| options.target.as_ref().is_none_or(|one| one == *name)).collect();
    if chosen.is_empty() {
        bail!("no such target; there are {}", names.join(", "));
    }
    let triple = host_triple()?;
    command::step("building the fuzz targets", || {
        let mut build = command::cargo();
        // Named, so that build scripts and macros are built without the flags.
        build.args(["build", "--locked", "--target", &triple, "--target-dir"]).arg(&out).current_dir(&source);
        command::quiet(build.env("RUSTFLAGS", FLAGS))
    })?;
    for name in chosen {
        let found = out.join("found").join(name);
        fs::create_dir_all(&found)?;
        let mut fuzz = std::process::Command::new(out.join(&triple).join("debug").join(name));
        fuzz.arg(&found).arg(source.join("corpus").join(name));
        fuzz.arg(format!("-artifact_prefix={}/failed-", out.join("found").display()));
        fuzz.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1", "-verbosity=0"]);
        fuzz.arg(format!("-max_total_time={}", options.seconds));
        println!("{name}");
        command::check(&mut fuzz)?;
    }
    Ok(())
}

/// Those that have a corpus.
fn targets(source: &Path) -> Result<Vec<String>> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(source.join("corpus"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.sort();
    Ok(folders.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
}

fn host_triple() -> Result<String> {
    let said = command::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}
