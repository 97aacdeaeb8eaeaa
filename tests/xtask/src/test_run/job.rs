//! One process of a test program: a test of the suite, or all tests of another program.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::share::Share;
use crate::built::Program;
use crate::command::output;
use crate::peers::with_peers;
use crate::repo::Repo;
use crate::stages::computed_by;

/// A test that takes longer hangs: all waits of the suite end sooner.
const TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// How often it is asked whether a process has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// What one process runs.
pub(super) struct Job {
    /// The test's name, or the program's if it runs all tests of it.
    pub(super) name: String,
    pub(super) share: Share,
    /// How many tests it runs.
    pub(super) tests: usize,
    command: Command,
    log: PathBuf,
}

/// How a job ended.
pub(super) struct Ran {
    pub(super) took: Duration,
    /// Processor time, of the servers that it started, too; none where the system does not tell.
    pub(super) computed: Option<Duration>,
    /// What the tests printed, if one of them failed.
    pub(super) failure: Option<String>,
}

impl Job {
    /// A job for each test of an end-to-end program, and one for all tests of a crate.
    pub(super) fn all_of(
        repo: &Repo,
        program: &Program,
        is_wanted: impl Fn(&Program, &str, bool) -> bool,
    ) -> Result<Vec<Self>> {
        let list = |more: &[&str]| {
            let mut list = command(repo, program)?;
            names(list.args(["--list", "--format", "terse"]).args(more))
        };
        let ignored = list(&["--ignored"])?;
        let mut tests = list(&[])?;
        // Two programs may have tests of one name.
        let full_name = |test: &str| match &*program.name {
            "suite" => test.to_owned(),
            other => format!("{other}::{test}"),
        };
        let is_long = |test: &str| Share::of(&full_name(test)).is_long();
        tests.retain(|test| !ignored.contains(test) && is_wanted(program, test, is_long(test)));
        if program.kind == "test" {
            let one = |test: &String| {
                let name = full_name(test);
                Self::new(repo, program, &name, Share::of(&name), 1, &["--exact", test])
            };
            return tests.iter().map(one).collect();
        }
        let name = format!("{} ({})", program.name, program.kind);
        let all = (!tests.is_empty()).then(|| Self::new(repo, program, &name, Share::Computes, tests.len(), &[]));
        all.into_iter().collect()
    }

    fn new(repo: &Repo, program: &Program, name: &str, share: Share, tests: usize, args: &[&str]) -> Result<Self> {
        let mut command = command(repo, program)?;
        with_peers(repo, &mut command).args(args).stdin(Stdio::null());
        let log = repo.target.join("test-output").join(format!("{}.log", name.replace("::", ".")));
        Ok(Self { name: name.to_owned(), share, tests, command, log })
    }

    /// Runs it to its end.
    pub(super) fn run(&mut self) -> Ran {
        let began = Instant::now();
        let (computed, failure) = match self.ends_well() {
            Ok(computed) => (computed, None),
            Err(error) => (None, Some(format!("{error:#}\n{}", fs::read_to_string(&self.log).unwrap_or_default()))),
        };
        Ran { took: began.elapsed(), computed, failure }
    }

    fn ends_well(&mut self) -> Result<Option<Duration>> {
        let folder = self.log.parent().context("a log lies in a folder")?;
        fs::create_dir_all(folder)?;
        let log = File::create(&self.log).with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut child = self.command.stdout(log.try_clone()?).stderr(log).spawn().context("cannot start it")?;
        let (status, computed) = end_of(&mut child)?;
        // A name that fits no test would pass.
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let passed = said.contains(&format!("test result: ok. {} passed; 0 failed;", self.tests));
        if !status.success() || !passed {
            bail!("it ended with {status}");
        }
        Ok(computed)
    }
}

/// Waits for the end of a process: how it ended, and what it has computed.
fn end_of(child: &mut Child) -> Result<(ExitStatus, Option<Duration>)> {
    let began = Instant::now();
    // It stays until its times were read.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_none() {
        if began.elapsed() > TIMEOUT {
            child.kill()?;
            child.wait()?;
            bail!("it hangs: it was stopped after {} s", TIMEOUT.as_secs());
        }
        sleep(PAUSE);
    }
    let computed = computed_by(child.id());
    Ok((child.wait()?, computed))
}

/// Starts a program as cargo does.
fn command(repo: &Repo, program: &Program) -> Result<Command> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    // Of the package that runs this program, and not of the one that is tested.
    command.env_remove("CARGO_PKG_NAME");
    if program.kind == "proc-macro" {
        // It is linked with the compiler's own library.
        let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]).current_dir(&repo.root))?;
        command.env("LD_LIBRARY_PATH", libraries.trim());
    }
    Ok(command)
}

/// The names of the tests in a program's list.
fn names(list: &mut Command) -> Result<Vec<String>> {
    Ok(output(list)?.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
