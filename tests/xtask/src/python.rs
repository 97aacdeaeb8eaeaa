//! Python: a virtual environment with the pinned client and `componentize-py`, and the plugin written in Python.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command::{quiet, step};
use crate::repo::Repo;
use crate::stamp::{copy_if_changed, unless_fresh};
use crate::wit;

/// Makes `target/venv` from `tests/clients/requirements.txt`.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    install(&repo.clients().join("requirements.txt"), &repo.target.join("venv"), (3, 11))
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

/// An installed Python of this version or a newer one.
fn interpreter((major, minor): (u32, u32)) -> Result<&'static Path> {
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
