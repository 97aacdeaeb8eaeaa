//! Builds the host, and says which programs a run of cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{cargo, check, output, step};
use crate::repo::Repo;

/// The target's name, kind and file.
pub(crate) type Program = (String, String, PathBuf);

/// Builds the host as `cargo xtask test` does: alone, it would have fewer features, and its dependencies would be compiled
/// again.
pub(crate) fn host(repo: &Repo) -> Result<()> {
    step("building the host", || {
        check(cargo().args(["build", "--quiet", "--workspace", "--bin", "portcullis"]).current_dir(&repo.root))
    })
}

/// Runs cargo and returns every program that it built.
pub(crate) fn executables(build: &mut Command) -> Result<Vec<Program>> {
    let messages = output(build.arg("--message-format=json"))?;
    let told = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let made = told.filter_map(|message| {
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let target = &message["target"];
        Some((text(&target["name"])?, text(&target["kind"][0])?, Path::new(message["executable"].as_str()?).to_owned()))
    });
    Ok(made.collect())
}

/// The only program of this kind and name.
pub(crate) fn of(built: &[Program], name: &str, kind: &str) -> Result<PathBuf> {
    let found = built.iter().find(|(its, of, _)| its == name && of == kind);
    found.map(|(.., path)| path.clone()).with_context(|| format!("cargo made no program of the {kind} `{name}`"))
}
