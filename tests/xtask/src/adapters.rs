//! The packages in `guest-sdk/clients`, which add reverse calls to third-party agents: compiled and tested here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{check, quiet, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;

/// Compiles the TypeScript package and its tests below `target/node`, where its dependencies are found.
pub(crate) fn typescript(repo: &Repo) -> Result<()> {
    let (from, to) = (repo.adapters().join("typescript"), built(repo));
    let parts = ["src", "tests", "package.json", "tsconfig.json"].map(|part| from.join(part));
    let mut inputs = parts.to_vec();
    inputs.push(repo.clients().join("package-lock.json"));
    unless_fresh(&to.join("stamp"), &inputs, &to.join("dist/src/index.js"), || {
        step("compiling guest-sdk/clients/typescript", || {
            if to.exists() {
                fs::remove_dir_all(&to)?;
            }
            fs::create_dir_all(&to)?;
            for part in &parts {
                copy(part, &to.join(part.file_name().context("a part has a name")?))?;
            }
            quiet(Command::new(repo.node_modules().join(".bin/tsc")).current_dir(&to))
        })
    })
}

/// Runs the tests of both packages against in-memory servers.
pub(crate) fn test(repo: &Repo) -> Result<()> {
    let mut pytest = Command::new(repo.python());
    // -B writes no bytecode beside the sources.
    pytest.args(["-B", "-m", "pytest", "-q"]).current_dir(repo.adapters().join("python"));
    check(&mut pytest).context("the Python client adapter has failing tests")?;
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot"]).args(tests(repo)?).current_dir(built(repo));
    check(&mut node).context("the TypeScript client adapter has failing tests")
}

fn built(repo: &Repo) -> PathBuf {
    repo.target.join("node/portcullis-client")
}

/// Lists the compiled tests by name, because Node 20 does not expand patterns.
fn tests(repo: &Repo) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(built(repo).join("dist/tests"))? {
        found.push(entry?.path());
    }
    found.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    found.sort();
    anyhow::ensure!(!found.is_empty(), "the TypeScript client adapter has no compiled tests");
    Ok(found)
}

/// A file, or the files directly in a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
