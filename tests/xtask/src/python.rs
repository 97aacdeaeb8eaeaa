//! Python: virtual environments with pinned packages.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command::{quiet, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;

/// The least version that the clients and tests work with.
pub(crate) const LEAST: (u32, u32) = (3, 11);

/// Makes `target/venv` from `tests/clients/requirements.txt`.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    install(&repo.clients().join("requirements.txt"), &repo.target.join("venv"), LEAST)
}

/// Makes a virtual environment with all that a file requires, from this version of Python or a newer one.
pub(crate) fn install(requirements: &Path, venv: &Path, version: (u32, u32)) -> Result<()> {
    let python = venv.join("bin/python");
    unless_fresh(&venv.join("stamp"), &[requirements.to_path_buf()], &python, || {
        let system = interpreter(version)?;
        step("making a Python environment", || {
            // --clear removes packages that are no longer required.
            quiet(Command::new(system).args(["-m", "venv", "--clear"]).arg(venv))
                .context("cannot make a virtual environment. On Debian and Ubuntu: `apt-get install python3-venv`")
        })?;
        step("installing the Python packages", || {
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--requirement"]);
            quiet(pip.arg(requirements)).context("pip could not install; it needs a package index within reach")
        })
    })
}

/// An installed Python of this version or a newer one.
pub(crate) fn interpreter((major, minor): (u32, u32)) -> Result<&'static Path> {
    let asks = format!("import sys; print(sys.version_info >= ({major}, {minor}))");
    for name in ["python3", "python3.14", "python3.13", "python3.12", "python3.11"] {
        let mut python = Command::new(name);
        let answer = python.args(["-c", &asks]).stderr(Stdio::null()).output();
        if answer.is_ok_and(|answer| answer.stdout.starts_with(b"True")) {
            return Ok(Path::new(name));
        }
    }
    bail!("no Python {major}.{minor} or newer found. On Debian: `apt-get install python3 python3-venv`")
}
