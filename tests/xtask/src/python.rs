//! Python: a virtual environment with the pinned client and `componentize-py`, and the plugin written in Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{output, quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};
use crate::wit;

/// Makes `target/venv` from `tests/clients/requirements.txt`.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    let venv = repo.target.join("venv");
    let requirements = repo.clients().join("requirements.txt");
    unless_fresh(&venv.join("stamp"), std::slice::from_ref(&requirements), &repo.python(), || {
        let system = interpreter()?;
        step("making the Python environment", || {
            // --clear removes packages that are no longer required.
            quiet(Command::new(system).args(["-m", "venv", "--clear"]).arg(&venv))
                .context("cannot make a virtual environment. On Debian and Ubuntu: `apt-get install python3-venv`")
        })?;
        step("installing the Python packages", || {
            let mut pip = Command::new(repo.python());
            pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--requirement"]);
            quiet(pip.arg(&requirements)).context("pip could not install; it needs a package index within reach")
        })
    })
}

/// Builds `target/plugins/hello-python.wasm`.
pub(crate) fn plugin(repo: &Repo) -> Result<()> {
    component(repo, "plugins/hello-python", "hello", "hello-python")
}

/// Builds `target/plugins/<to>.wasm` from the script and the world of this name in a folder.
pub(crate) fn component(repo: &Repo, folder: &str, name: &str, to: &str) -> Result<()> {
    let component = repo.plugins().join(format!("{to}.wasm"));
    let from = repo.root.join(folder);
    let script = format!("{name}.py");
    let [source, world, manifest] = [&script, "world.wit", "manifest.json"].map(|name| from.join(name));
    let wasi = wit::wasi(repo)?;
    let requirements = repo.clients().join("requirements.txt");
    let inputs = [source.clone(), world.clone(), manifest.clone(), repo.wit(), wasi.clone(), requirements];
    let work = repo.target.join(to);
    unless_fresh(&work.join("stamp"), &inputs, &component, || {
        step(&format!("building {folder}"), || {
            // From a copy: Python writes its bytecode beside the source that it loads.
            copy_if_changed(&source, &work.join(&script))?;
            let (bound, built) = (work.join("wit"), work.join("built.wasm"));
            wit::gather(repo, &world, &wasi, &bound, |text| text)?;
            let mut build = Command::new(repo.target.join("venv/bin/componentize-py"));
            build.arg("--quiet").arg("--wit-path").arg(&bound).args(["--world", name, "componentize"]);
            quiet(build.arg("--python-path").arg(&work).args([name, "--output"]).arg(&built))?;
            wit::with_manifest(&built, &manifest, &component)?;
            Ok(fs::remove_file(built)?)
        })
    })
}

/// The newest installed Python that the client's packages support.
fn interpreter() -> Result<&'static Path> {
    for name in ["python3", "python3.13", "python3.12", "python3.11"] {
        let version = output(Command::new(name).args(["-c", "import sys; print(sys.version_info >= (3, 11))"]));
        if version.is_ok_and(|answer| answer.trim() == "True") {
            return Ok(Path::new(name));
        }
    }
    bail!("no Python 3.11 or newer found. On Debian: `apt-get install python3 python3-venv`")
}
