//! Behind `cargo xtask crash --power-loss`: records what a process that uses the durable store writes and syncs, makes the disk as
//! a loss of power could leave it at many moments, and checks that nothing acknowledged is missing.
#![allow(clippy::print_stdout, reason = "a tool for people at a terminal; no MCP wire here")]

mod disk;
mod figures;
mod trace;
mod workload;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use disk::Disk;
use fastrand::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use trace::Step;
use workload::Expected;

#[derive(Parser)]
enum Args {
    /// Writes so many steps below a folder, and says which ones were acknowledged.
    Write { folder: PathBuf, steps: u64 },
    /// Measures the durable store on the disk of a folder.
    Figures { folder: PathBuf },
    /// Records a writing process, and checks what losses of power would leave.
    PowerLoss {
        /// Losses of power, each at another moment.
        #[arg(long, default_value_t = 250)]
        images: usize,
        /// Steps of the recorded process: enough for the write-ahead log to be copied into the file several times.
        #[arg(long, default_value_t = 12_000)]
        steps: u64,
        #[arg(long)]
        seed: Option<u64>,
    },
}

fn main() -> Result<()> {
    match Args::parse() {
        Args::Write { folder, steps } => workload::write(&folder, steps),
        Args::Figures { folder } => figures::print(&folder),
        Args::PowerLoss { images, steps, seed } => {
            let seed = seed.unwrap_or_else(|| fastrand::u64(..));
            println!("seed {seed}");
            // A disk that works, and one on which syncing fails now and then.
            for failing in [None, Some("inject=fsync,fdatasync:error=EIO:when=30+17")] {
                lose_power(images, steps, failing, &mut Rng::with_seed(seed))?;
            }
            Ok(())
        }
    }
}

fn lose_power(images: usize, steps: u64, failing: Option<&str>, rng: &mut Rng) -> Result<()> {
    let home = tempfile::tempdir()?;
    let recorded = record(home.path(), steps, failing)?;
    let count = |is_one: fn(&Step) -> bool| recorded.iter().filter(|step| is_one(step)).count();
    let failed = count(|step| matches!(step, Step::Sync { worked: false, .. }));
    ensure!(failing.is_none() || failed > 0, "no sync has failed");
    let lost = lost(&recorded, images, true, home.path(), rng)?;
    println!(
        "{}: {} writes, {} syncs ({failed} failed), {} acknowledged; of {images} losses of power {} lost something",
        if failing.is_some() { "failing syncs" } else { "working disk" },
        count(|step| matches!(step, Step::Write { .. })),
        count(|step| matches!(step, Step::Sync { .. })),
        count(|step| matches!(step, Step::Acknowledged(_))),
        lost.len(),
    );
    if let Some(first) = lost.first() {
        bail!("{first}");
    }
    // Could it have been seen? If the write-ahead log is never synced, much is lost.
    let seen = self::lost(&recorded, images.min(50), false, home.path(), rng)?.len();
    println!("  (if syncs of the write-ahead log did nothing: {seen} of {})", images.min(50));
    ensure!(seen > 0, "the check finds nothing even where there is much to find");
    Ok(())
}

/// Runs ourselves as the writing process, with its system calls recorded.
fn record(home: &Path, steps: u64, failing: Option<&str>) -> Result<Vec<Step>> {
    let (state, trace) = (home.join("state"), home.join("trace"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", "1000000", "-o"]).arg(&trace);
    strace.args(["-e", "trace=openat,pwrite64,write,fdatasync,fsync,ftruncate,unlink,unlinkat"]);
    if let Some(failing) = failing {
        strace.args(["-e", failing]);
    }
    strace.arg(std::env::current_exe()?).arg("write").arg(&state).arg(steps.to_string());
    let ended = strace.output().context("cannot start strace: install it (apt install strace)")?;
    ensure!(ended.status.success(), "the writing process failed: {}", String::from_utf8_lossy(&ended.stderr));
    trace::parse(&fs::read_to_string(&trace)?, &state)
}

/// What was lost, for each of so many losses of power that lost something.
fn lost(steps: &[Step], images: usize, is_true: bool, home: &Path, rng: &mut Rng) -> Result<Vec<String>> {
    let mut moments: Vec<usize> = (0..images).map(|_| rng.usize(..=steps.len())).collect();
    moments.sort_unstable();
    let (mut disk, mut expected, mut done, mut lost) = (Disk::default(), Expected::default(), 0, Vec::new());
    for (number, moment) in moments.into_iter().enumerate() {
        for step in &steps[done..moment] {
            match step {
                Step::Acknowledged(line) => expected.note(line)?,
                Step::Sync { file, .. } if !is_true && file.ends_with("-wal") => {}
                step => disk.apply(step, rng),
            }
        }
        done = moment;
        let image = home.join("image");
        disk.write_image(&image, rng)?;
        if let Err(error) = workload::check(&image, &expected) {
            lost.push(format!("image {number}, after step {moment} of {}: {error:#}", steps.len()));
        }
        fs::remove_dir_all(&image)?;
    }
    Ok(lost)
}
