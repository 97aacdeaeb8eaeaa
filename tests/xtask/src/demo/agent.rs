//! `cargo xtask demo agent`: the agent's side, at a terminal: a server's tool calls our calendar back, and an event makes
//! us call.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::setup;

/// Sets up, builds, and plays the session; fails when anything is not as the demo says.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::for_demo(repo, &[])?;
    step("building the host", || {
        check(cargo().args(["build", "--quiet", "-p", "portcullis"]).current_dir(&repo.root))
    })?;
    let folder = repo.target.join("demo");
    step("laying out the table", || lay_out(repo, &folder))?;
    // Before the session: nobody enjoys watching a compiler.
    step("compiling the plugins", || {
        for config in ["demo-office.toml", "demo-agent.toml"] {
            let args = ["plugin", "list", "--load", "--config"];
            let out = repo.portcullis().args(args).arg(repo.clients().join(config)).output();
            let out = out.context("cannot start portcullis")?;
            anyhow::ensure!(out.status.success(), "{config}: {}", String::from_utf8_lossy(&out.stderr));
        }
        Ok(())
    })?;
    let mut person = Command::new(repo.python());
    person.arg("-B").arg(repo.clients().join("demo_agent.py"));
    person.arg(repo.binary("debug", "portcullis")).arg(repo.clients()).arg(&folder);
    check(person.env("PYTHONIOENCODING", "utf-8").current_dir(&repo.root))
}

/// An empty calendar, three open receipts, and nothing remembered.
fn lay_out(repo: &Repo, folder: &Path) -> Result<()> {
    for name in ["calendar", "expenses", "agent-state", "office-state"] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| format!("cannot empty {}", path.display()))?;
        }
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    let data = repo.root.join("plugins/expense/data");
    for name in ["policies.csv", "receipts.csv"] {
        fs::copy(data.join(name), folder.join("expenses").join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}
