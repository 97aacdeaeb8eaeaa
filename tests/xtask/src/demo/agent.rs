//! `cargo xtask demo agent`: the agent's side at a terminal: a server's tool calls the local calendar, and an event
//! triggers a tool call.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, step};
use crate::repo::Repo;
use crate::setup;

/// The plugins of the two sides.
const PLUGINS: [&str; 3] = ["calendar", "planner", "expense"];

/// Sets up, builds, and plays the session; fails when the output differs from what the demo expects.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::for_demo(repo, &PLUGINS, &[])?;
    let folder = repo.target.join("demo");
    step("laying out the table", || lay_out(repo, &folder))?;
    // Builds before the session, so that no compiler output is shown in it.
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

/// Creates an empty calendar and three open receipts, and removes all remembered data.
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
