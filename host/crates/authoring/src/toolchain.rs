//! The tools of a language, installed once in the user's cache: exact versions with their digests, in a folder of their own that
//! nobody else can write to. After the first time, no network is needed.

use crate::command::{self, quiet, step};
use crate::embedded;
use crate::environment::BuildEnvironment;
use anyhow::Context;
use platform::clock::{Clock as _, SystemClock};
use platform::files::create_private_folder;
use plugins::package::Digest;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const PYTHON: &str = "Python 3.11 or newer builds plugins in Python. On Debian: `apt-get install python3 python3-venv`";
const C: &str =
    "Python 3.11 or newer runs the compiler of plugins in C. On Debian: `apt-get install python3 python3-venv`";
/// A file that is written into a folder of the cache when it is complete, and gets a new time whenever the folder is used.
pub(crate) const INSTALLED: &str = "installed";
/// The interpreter in a folder with a virtual environment.
const INTERPRETER: &str = "venv/bin/python";
pub(crate) const NODE: &str = "Node 20 or newer, with npm, builds plugins in JavaScript: https://nodejs.org";

/// What builds plugins in Python: an environment with componentize-py.
pub(crate) struct PythonTools {
    folder: PathBuf,
}

impl PythonTools {
    pub(crate) fn interpreter(&self) -> PathBuf {
        self.folder.join(INTERPRETER)
    }

    /// The name of their folder in the cache, which identifies these tools.
    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The folder of time zones in the package tzdata.
    pub(crate) fn zones(&self) -> anyhow::Result<PathBuf> {
        let ask = "import tzdata.zoneinfo; print(tzdata.zoneinfo.__path__[0], end='')";
        let said = quiet(command::python(&self.interpreter()).args(["-c", ask]), PYTHON);
        Ok(said.context("the tools for python have no tzdata")?.into())
    }
}

pub(crate) fn python(from: &BuildEnvironment) -> anyhow::Result<PythonTools> {
    Ok(PythonTools { folder: virtual_environment(from, "python", PYTHON)? })
}

/// The Python interpreter that has the compiler for C. What it has compiled of its C library is kept beside it.
pub(crate) fn c(from: &BuildEnvironment) -> anyhow::Result<PathBuf> {
    Ok(virtual_environment(from, "c", C)?.join(INTERPRETER))
}

/// A folder with a virtual environment.
fn virtual_environment(from: &BuildEnvironment, language: &str, need: &str) -> anyhow::Result<PathBuf> {
    tools(from, language, |folder| {
        let venv = folder.join("venv");
        let mut make = command::python(Path::new("python3"));
        make.args(["-m", "venv", "--clear"]).arg(&venv).current_dir(folder);
        quiet(&mut make, need).with_context(|| need.to_owned())?;
        let python = folder.join(INTERPRETER);
        let version =
            "import sys; sys.exit('this is Python ' + sys.version.split()[0]) if sys.version_info < (3, 11) else None";
        quiet(command::python(&python).args(["-c", version]), need).with_context(|| need.to_owned())?;
        // Each wheel must have a digest that is listed; nothing is built, and nothing else is looked for.
        let mut pip = command::python(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
        pip.args(["--only-binary", ":all:", "--requirement"]).arg(folder.join("requirements.txt"));
        quiet(&mut pip, need)
            .context("pip could not install the tools; the first time it needs a package index within reach")?;
        Ok(())
    })
}

/// Node's packages that make components.
pub(crate) fn node(from: &BuildEnvironment) -> anyhow::Result<PathBuf> {
    packages(from, "javascript", "componentize-qjs and esbuild")
}

/// Node's packages that check types, for plugins whose schemas are made of them.
pub(crate) fn typescript(from: &BuildEnvironment) -> anyhow::Result<PathBuf> {
    packages(from, "typescript", "TypeScript")
}

/// A folder with Node's packages.
fn packages(from: &BuildEnvironment, language: &str, which: &str) -> anyhow::Result<PathBuf> {
    let tools = tools(from, language, |folder| {
        let mut npm = Command::new("npm");
        // The lock file has versions and digests but no addresses, so any registry works. No script of a package runs.
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
        let installed = quiet(&mut npm, NODE);
        installed.with_context(|| {
            format!("npm could not install {which}; the first time it needs a registry within reach")
        })?;
        Ok(())
    })?;
    Ok(tools.join("node_modules"))
}

/// Installs what this program lists for a language, unless that was done before.
fn tools(
    from: &BuildEnvironment,
    language: &str,
    install: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let files: Vec<_> = embedded::below(&format!("toolchains/{language}")).collect();
    let bytes: Vec<u8> = files.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let digest = Digest::sha256(&bytes).to_string();
    let name = format!("{language}-{}", digest.trim_start_matches("sha256:").split_at(16).0);
    once(from, &name, &format!("the tools for {language}"), |to| {
        for (name, bytes) in files {
            fs::write(to.join(name), bytes).with_context(|| format!("cannot write {}", to.display()))?;
        }
        install(to)
    })
}

/// Fills a folder of the cache, unless that was done before. Two builds at once do it once.
pub(crate) fn once(
    from: &BuildEnvironment,
    name: &str,
    what: &str,
    install: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let cache = from.cache()?;
    let (all, to) = (cache.join("toolchains"), cache.join("toolchains").join(name));
    let private =
        |folder: &Path| create_private_folder(folder).with_context(|| format!("cannot use {}", folder.display()));
    private(cache)?;
    private(&all)?;
    let locked = lock_file(&all, name).and_then(|file| file.lock().map(|()| file));
    let _lock = locked.with_context(|| format!("cannot lock {}", all.display()))?;
    // Checked before anything in the folder is trusted.
    private(&to)?;
    let done = to.join(INSTALLED);
    if let Ok(done) = File::open(&done) {
        // The time only decides how long the folder is kept.
        let _ = done.set_modified(SystemClock.wall());
        return Ok(to);
    }
    step(&format!("installing {what} in {}", to.display()), || install(&to))?;
    // Written last, so that an interrupted installation is done again.
    fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    Ok(to)
}

/// The file that is locked while a folder of the cache is filled or removed.
pub(crate) fn lock_file(all: &Path, name: &str) -> std::io::Result<File> {
    File::create(all.join(format!("{name}.lock")))
}
