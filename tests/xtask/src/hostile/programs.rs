//! The test programs, and running one of their tests by its full name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::built::{Program, executables, of};
use crate::command::step;
use crate::peers::with_peers;
use crate::repo::Repo;

/// Where a test is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In the suite, which drives the real program.
    Suite,
    /// In one of the host's crates; the test's path begins with the crate's short name.
    Unit,
    /// In `host/tests`: random programs of guests.
    Random,
    /// In `host/tests`: calls that are given up.
    Dropped,
    /// A command of `cargo xtask`.
    Xtask,
}

/// The test of random programs, and how many of them are run.
const RANDOM: &str = "noninterference";
const MANY: &str = "100000";
const DROPPED: &str = "dropped";

/// The compiled test programs.
#[derive(Default)]
pub(super) struct Programs {
    suite: Option<PathBuf>,
    random: Option<PathBuf>,
    dropped: Option<PathBuf>,
    /// By the crate's short name.
    unit: BTreeMap<String, PathBuf>,
}

/// The result of one test.
pub(super) struct Ran {
    pub(super) passed: bool,
    pub(super) output: String,
    pub(super) took: Duration,
}

impl Programs {
    /// Builds the programs for these places.
    pub(super) fn build(repo: &Repo, places: &[Place]) -> Result<Self> {
        let mut build = repo.cargo();
        build.args(["test", "--quiet", "--workspace", "--no-run"]);
        if places.contains(&Place::Suite) {
            build.args(["--test", "suite"]);
        }
        if places.contains(&Place::Random) {
            build.args(["--test", RANDOM]);
        }
        if places.contains(&Place::Dropped) {
            build.args(["--test", DROPPED]);
        }
        if places.contains(&Place::Unit) {
            build.arg("--lib");
        }
        if places.iter().all(|place| *place == Place::Xtask) {
            return Ok(Self::default());
        }
        let built = step("building the tests", || executables(&mut build))?;
        let suite = places.contains(&Place::Suite).then(|| of(&built, "suite", "test")).transpose()?;
        let random = places.contains(&Place::Random).then(|| of(&built, RANDOM, "test")).transpose()?;
        let dropped = places.contains(&Place::Dropped).then(|| of(&built, DROPPED, "test")).transpose()?;
        Ok(Self { suite, random, dropped, unit: by_crate(&built, "portcullis", "lib") })
    }

    /// Replaces the programs of the host's own tests.
    pub(super) fn with_unit(self, unit: BTreeMap<String, PathBuf>) -> Self {
        Self { unit, ..self }
    }

    /// Runs one test by its full name; returns none if there is no such test.
    pub(super) fn run(
        &self,
        repo: &Repo,
        place: Place,
        test: &str,
        adjust: impl FnOnce(&mut Command),
    ) -> Result<Option<Ran>> {
        let (name, in_crate) = test.split_once("::").unwrap_or((test, ""));
        let (program, folder) = match place {
            Place::Suite => (self.suite.clone(), "tests/suite".to_owned()),
            Place::Random => (self.random.clone(), "host".to_owned()),
            Place::Dropped => (self.dropped.clone(), "host".to_owned()),
            Place::Unit => (self.unit.get(name).cloned(), folder(name)),
            // Not `current_exe`: the build has replaced that file, and it is called `xtask (deleted)` now.
            Place::Xtask => (Some(repo.binary("debug", "xtask")), ".".to_owned()),
        };
        let program = program.context("these tests were not built")?;
        let mut command = Command::new(&program);
        with_peers(repo, &mut command).current_dir(repo.root.join(folder));
        match place {
            Place::Suite | Place::Dropped => command.args(["--exact", test, "--nocapture"]),
            Place::Random => command.args(["--exact", test, "--nocapture"]).env("PORTCULLIS_PROGRAMS", MANY),
            Place::Unit => command.args(["--exact", in_crate, "--nocapture"]),
            Place::Xtask => command.args(test.split(' ')),
        };
        // What measures time runs only where nothing else does.
        command.env("PORTCULLIS_FIGURES", "1");
        adjust(&mut command);
        let start = Instant::now();
        let out = command.output().with_context(|| format!("cannot start {}", program.display()))?;
        let output = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        // An unknown name would otherwise pass without running anything.
        let there = place == Place::Xtask || output.contains("running 1 test\n");
        if !there && !output.contains("running 0 tests\n") {
            bail!("{} ran no test and says:\n{output}", program.display());
        }
        Ok(there.then(|| Ran { passed: out.status.success(), output, took: start.elapsed() }))
    }
}

/// The folder of one of the host's crates.
fn folder(name: &str) -> String {
    if name == "portcullis" { "host".to_owned() } else { format!("host/crates/{name}") }
}

/// The programs of a kind whose names begin with a prefix, by the rest of their names: the short names of the host's
/// crates.
pub(super) fn by_crate(built: &[Program], prefix: &str, kind: &str) -> BTreeMap<String, PathBuf> {
    let ours = built.iter().filter(|program| program.kind == kind).filter_map(|program| {
        let rest = program.name.strip_prefix(prefix)?.trim_start_matches(['-', '_']);
        Some((if rest.is_empty() { "portcullis" } else { rest }.to_owned(), program.path.clone()))
    });
    ours.collect()
}
