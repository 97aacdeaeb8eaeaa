//! A third-party plugin is installed at a terminal, and its next version requests more access.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::check;
use crate::repo::Repo;
use crate::setup;

pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::for_demo(repo, &["files"], &[])?;
    show(repo)
}

/// Plays the session in an empty folder; fails when the output differs from what the demo expects.
pub(super) fn show(repo: &Repo) -> Result<()> {
    let folder = repo.target.join("demo/install");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut person = Command::new(repo.python());
    person.arg("-B").arg(repo.clients().join("demo_install.py"));
    person.arg(repo.binary("debug", "portcullis")).arg(repo.target.join("plugins/files.wasm"));
    check(person.env("PYTHONIOENCODING", "utf-8").current_dir(&folder))
}
