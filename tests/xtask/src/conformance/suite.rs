//! The installed suite: finds it, reads its lists, runs it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::requirements::Requirements;
use crate::command::output;

/// The suite needs what came with Node 22.
const NODE: u32 = 22;

/// Scenarios take seconds; one that hangs ends here.
const TIMEOUT_MS: &str = "30000";

/// The suite and a Node to run it.
pub(super) struct Suite {
    package: PathBuf,
    node: PathBuf,
}

impl Suite {
    /// In the folder where it was installed.
    pub(super) fn find(folder: &Path) -> Result<Self> {
        let modules = folder.join("node_modules");
        let own = modules.join(".bin/node");
        // The lock file brings Node for Linux; elsewhere the one at hand must do.
        let node = if own.exists() { own } else { PathBuf::from("node") };
        let version = output(Command::new(&node).arg("--version")).context("the conformance suite needs Node")?;
        let major =
            version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < NODE) {
            bail!("the conformance suite needs Node {NODE} or newer; this one is {}", version.trim());
        }
        Ok(Self { package: modules.join("@modelcontextprotocol/conformance"), node })
    }

    /// Node, for whatever else is run with it.
    pub(super) fn node(&self) -> Command {
        Command::new(&self.node)
    }

    /// What a revision requires.
    pub(super) fn requirements(&self, revision: &'static str) -> Result<Requirements> {
        let file = self.package.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Requirements::parse(revision, &text))
    }

    /// Runs everything of a revision, or one scenario; what came out is below `results`. Its exit code is no verdict:
    /// it counts the required scenarios only.
    pub(super) fn run(&self, url: &str, set: &Requirements, only: Option<&str>, results: &Path) -> Result<()> {
        fs::create_dir_all(results)?;
        let log = results.join("suite.log");
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut suite = self.node();
        suite.arg(self.package.join("dist/index.js")).args(["server", "--url", url, "--timeout", TIMEOUT_MS]);
        match only {
            Some(scenario) => suite.args(["--scenario", scenario, "--spec-version", set.revision]),
            None => suite.args(["--requirements", set.revision]),
        };
        suite.arg("--output-dir").arg(results).stderr(file.try_clone()?).stdout(file);
        suite.status().context("cannot start the conformance suite")?;
        Ok(())
    }
}
