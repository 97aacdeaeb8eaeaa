//! Builds the host, and says which programs a run of cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, output, step};
use crate::repo::Repo;

/// A program that cargo has built.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The target's name.
    pub(crate) name: String,
    /// The target's kind: `lib` and `bin` for the tests of a crate, `test` for those in a `tests` folder.
    pub(crate) kind: String,
    /// Whether it runs tests. A crate's tests have the name and kind of what they test.
    pub(crate) is_test: bool,
    pub(crate) path: PathBuf,
    /// The package's folder, where cargo would run its tests.
    pub(crate) folder: PathBuf,
}

/// Builds the host.
pub(crate) fn host(repo: &Repo) -> Result<()> {
    step("building the host", || programs(repo, &["portcullis"]))
}

/// Builds programs of the workspace, with the features that all of it needs: with fewer, dependencies would be compiled again.
pub(crate) fn programs(repo: &Repo, names: &[&str]) -> Result<()> {
    let mut build = repo.cargo();
    build.args(["build", "--workspace"]);
    // The tests have built them with theirs, which need more features.
    if repo.is_linting() {
        build.arg("--all-targets");
    } else {
        build.args(names.iter().flat_map(|name| ["--bin", name]));
    }
    check(&mut build)
}

/// Builds the host, all that measures and attacks it, and all tests. Returns the programs that run tests.
pub(crate) fn everything(repo: &Repo) -> Result<Vec<Program>> {
    let mut built = executables(repo.cargo().args(["build", "--workspace", "--all-targets"]))?;
    built.retain(|program| program.is_test);
    Ok(built)
}

/// Runs cargo and returns every program that it built.
pub(crate) fn executables(build: &mut Command) -> Result<Vec<Program>> {
    let messages = output(build.arg("--message-format=json-render-diagnostics"))?;
    let told = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let made = told.filter_map(|message| {
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let target = &message["target"];
        Some(Program {
            name: text(&target["name"])?,
            kind: text(&target["kind"][0])?,
            is_test: message["profile"]["test"] == true,
            path: Path::new(message["executable"].as_str()?).to_owned(),
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        })
    });
    Ok(made.collect())
}

/// The only program of this kind and name.
pub(crate) fn of(built: &[Program], name: &str, kind: &str) -> Result<PathBuf> {
    let found = built.iter().find(|program| program.name == name && program.kind == kind);
    found.map(|program| program.path.clone()).with_context(|| format!("cargo made no program of the {kind} `{name}`"))
}
