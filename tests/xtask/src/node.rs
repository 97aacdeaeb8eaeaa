//! Node: the pinned TypeScript client and `componentize-qjs`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{output, quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};

/// Makes `target/node` from `tests/clients/package.json` and its lock file.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    install(&repo.clients(), &repo.target.join("node"), "installing the Node packages", &[])
}

/// Installs below `to` the packages that `package.json` and its lock file in `from` name, with further options for npm.
pub(crate) fn install(from: &Path, to: &Path, what: &str, options: &[&str]) -> Result<()> {
    let inputs = ["package.json", "package-lock.json"].map(|name| from.join(name));
    unless_fresh(&to.join(format!("stamp{}", options.concat())), &inputs, &to.join("node_modules"), || {
        check_version()?;
        step(what, || {
            for input in &inputs {
                copy_if_changed(input, &to.join(input.file_name().context("a lock file has a name")?))?;
            }
            let mut npm = Command::new("npm");
            // The lock file has versions and digests but no addresses, so any registry or mirror works. Not `npm ci`:
            // it insists on entries for all of componentize-qjs's optional builds, published or not.
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
            quiet(npm.args(options).current_dir(to))
                .context("npm could not install; it needs a package registry within reach")
        })
    })
}

fn check_version() -> Result<()> {
    let need = "Node 20 or newer with npm is needed for the TypeScript client and the JavaScript plugin";
    let version = output(Command::new("node").arg("--version")).context(need)?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < 20) {
        bail!("{need}; this one is {}", version.trim());
    }
    Ok(())
}
