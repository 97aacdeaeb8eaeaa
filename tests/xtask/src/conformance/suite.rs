//! The installed suite: locates it, reads its lists, runs it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::requirements::Requirements;
use crate::command::output;

/// The suite uses features of Node 22.
const NODE: u32 = 22;

/// Scenarios take seconds; one that hangs is stopped after this.
const TIMEOUT_MS: &str = "30000";

/// The suite and a Node to run it.
pub(super) struct Suite {
    package: PathBuf,
    node: PathBuf,
}

impl Suite {
    pub(super) fn find(folder: &Path) -> Result<Self> {
        let modules = folder.join("node_modules");
        let own = modules.join(".bin/node");
        // The lock file includes Node for Linux; other platforms use the installed one.
        let node = if own.exists() { own } else { PathBuf::from("node") };
        let version = output(Command::new(&node).arg("--version")).context("the conformance suite needs Node")?;
        let major =
            version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < NODE) {
            bail!("the conformance suite needs Node {NODE} or newer; this one is {}", version.trim());
        }
        Ok(Self { package: modules.join("@modelcontextprotocol/conformance"), node })
    }

    /// Node, for other programs that need it.
    pub(super) fn node(&self) -> Command {
        Command::new(&self.node)
    }

    /// The scenarios that a revision requires.
    pub(super) fn requirements(&self, revision: &'static str) -> Result<Requirements> {
        let file = self.package.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Requirements::parse(revision, &text))
    }

    /// Runs all scenarios of a revision, or one; the results are written below `results`. The suite's exit code is not
    /// used: it covers the required scenarios only.
    pub(super) fn run(&self, url: &str, set: &Requirements, only: Option<&str>, results: &Path) -> Result<()> {
        fs::create_dir_all(results)?;
        let log = results.join("suite.log");
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut suite = self.node();
        suite.arg(self.package.join("dist/index.js")).args(["server", "--url", url, "--timeout", TIMEOUT_MS]);
        match only {
            Some(scenario) => suite.args(["--scenario", scenario, "--spec-version", set.revision, "--force"]),
            None => suite.args(["--requirements", set.revision]),
        };
        suite.arg("--output-dir").arg(results).stderr(file.try_clone()?).stdout(file);
        suite.status().context("cannot start the conformance suite")?;
        Ok(())
    }
}
