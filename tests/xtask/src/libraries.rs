//! Installs the MCP client libraries of `tests/clients/libraries` below `target/libraries`, in pinned versions.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};
use crate::{node, python};

/// The environment with the newest SDK.
const CURRENT: &str = "current";

/// All of them. One is in Go and left out where there is no Go.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    for environment in [CURRENT, "earlier", "older"] {
        packages(repo, environment)?;
    }
    javascript(repo)?;
    if let Err(error) = go(repo) {
        eprintln!("  without go-sdk: {error:#}");
    }
    Ok(())
}

/// FastMCP with what follows tasks, and the Inspector.
pub(crate) fn for_tasks(repo: &Repo) -> Result<()> {
    packages(repo, CURRENT)?;
    let (from, to) = (repo.clients().join("libraries/inspector"), repo.libraries().join("inspector"));
    node::install(&from, &to, "installing the Inspector", &[])
}

fn packages(repo: &Repo, environment: &str) -> Result<()> {
    let requirements = repo.clients().join(format!("libraries/python/{environment}.txt"));
    python::install(&requirements, &repo.libraries().join(environment), (3, 11))
}

/// The packages, and the scripts beside them, so that their imports are found.
fn javascript(repo: &Repo) -> Result<()> {
    let (from, to) = (repo.clients().join("libraries/javascript"), repo.libraries().join("javascript"));
    node::install(&from, &to, "installing the libraries in JavaScript", &[])?;
    for entry in fs::read_dir(&from)? {
        let script = entry?.path();
        if script.extension().is_some_and(|end| end == "mjs") {
            copy_if_changed(&script, &to.join(script.file_name().context("a script has a name")?))?;
        }
    }
    Ok(())
}

fn go(repo: &Repo) -> Result<()> {
    let (from, program) = (repo.clients().join("libraries/go"), repo.libraries().join("go-sdk"));
    unless_fresh(&repo.libraries().join("go-sdk.stamp"), std::slice::from_ref(&from), &program, || {
        step("building the library in Go", || {
            quiet(Command::new("go").args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(&from))
        })
    })
}
