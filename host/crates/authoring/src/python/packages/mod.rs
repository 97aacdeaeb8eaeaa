//! Packages that a plugin in Python depends on: pip resolves them once into a lock file and installs what that file names, from
//! pure-Python wheels alone.

mod compiled;
mod lock;
mod pip;
mod requirement;

use crate::command::step;
use crate::folders::empty;
use crate::project::Project;
use anyhow::{Context, bail, ensure};
use lock::Lock;
use pip::{PURE, attempt, pip, run};
use platform::files::replace_file;
use plugins::package::Digest;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The lock file beside pyproject.toml, which belongs in the author's version control.
const LOCK: &str = "requirements.lock";

/// A folder in that of the packages. No module can have such a name.
const PACKED: &str = ".packed";

/// The packages of a plugin, installed.
pub(super) struct Packages {
    pub(super) folder: PathBuf,
}

impl Packages {
    /// The folder with the archive of the packages for one version of the standard library. It is removed when others are
    /// installed.
    pub(super) fn packed(&self, library: &str) -> PathBuf {
        self.folder.join(PACKED).join(library)
    }
}

/// Installs the packages that the plugin depends on; None if there are none.
pub(super) fn install(project: &Project, python: &Path) -> anyhow::Result<Option<Packages>> {
    let (work, path) = (project.work(), project.folder.join(LOCK));
    let (folder, wheels, done) = (work.join("packages"), work.join("wheels"), work.join("packages.lock"));
    if project.dependencies.is_empty() {
        return Ok(None);
    }
    project.dependencies.iter().try_for_each(|dependency| requirement::plain(dependency))?;
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(Lock::parse(&text).with_context(|| format!("cannot use {}", path.display()))?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    fs::create_dir_all(&wheels).with_context(|| format!("cannot make {}", wheels.display()))?;
    let lock = match before {
        Some(lock) if lock.dependencies == project.dependencies => lock,
        before => {
            let what = "finding the packages that pyproject.toml names";
            let lock = step(what, || resolve(python, &work, &project.dependencies, before.as_ref()))?;
            // Replaces a link that somebody has put there, instead of writing to its target.
            let written = replace_file(&path, lock.text().as_bytes(), Permissions::from_mode(0o644));
            written.with_context(|| format!("cannot write {}", path.display()))?;
            lock
        }
    };
    let text = lock.text();
    if folder.is_dir() && fs::read_to_string(&done).is_ok_and(|installed| installed == text) {
        return Ok(Some(Packages { folder }));
    }
    step("installing the packages", || {
        let files = fetch(python, &work, &lock)?;
        let mut pip = pip(python, &wheels, "install");
        pip.args(PURE).args(["--no-index", "--no-deps", "--no-compile", "--target"]).arg(&folder).args(files);
        refill(&folder, &done, &text, || run(&mut pip))
    })?;
    Ok(Some(Packages { folder }))
}

/// Empties a folder and fills it anew. `done` describes the contents and exists only while that is true: interrupted work is
/// done again.
fn refill(folder: &Path, done: &Path, text: &str, fill: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    if done.exists() {
        fs::remove_file(done).with_context(|| format!("cannot remove {}", done.display()))?;
    }
    empty(folder)?;
    fill()?;
    fs::write(done, text).with_context(|| format!("cannot write {}", done.display()))
}

/// Has pip choose versions, those of the old lock file where they still fit.
fn resolve(python: &Path, work: &Path, dependencies: &[String], before: Option<&Lock>) -> anyhow::Result<Lock> {
    let found = work.join("found");
    empty(&found)?;
    let made = work.join("made");
    empty(&made)?;
    let constraints = work.join("constraints.txt");
    fs::write(&constraints, before.map_or_else(String::new, Lock::versions))?;
    let advice = || match before {
        Some(_) => format!("if versions in {LOCK} are in the way, remove that file: all are then chosen again"),
        None => "no package could be chosen".into(),
    };
    let mut tried = Vec::new();
    loop {
        let mut pip = pip(python, &found, "download");
        pip.args(PURE).args(["--dest", ".", "--constraint"]).arg(&constraints).arg("--find-links").arg(&made);
        let Err(missing) = attempt(pip.args(dependencies)).with_context(advice)? else { break };
        let asked = missing.requirement.clone();
        if !requirement::works_without(&asked) || tried.contains(&asked) {
            let wheel = compiled::wheel_of(python, &asked, work);
            return Err(missing.error(wheel.as_deref())).with_context(advice);
        }
        // The version of the lock file, unless another one is asked for now.
        let kept = before.and_then(|before| before.wheels.iter().find(|wheel| requirement::is(&wheel.name, &asked)));
        let kept = kept.map(|wheel| format!("{}=={}", wheel.name, wheel.version));
        compiled::strip(python, kept.as_ref().unwrap_or(&asked), &made)?;
        tried.push(asked);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&found)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, Digest::sha256(&fs::read(&path)?)));
    }
    let lock = Lock::new(dependencies, files)?;
    // The same version with other bytes is not an update: somebody has changed the index.
    for wheel in before.map_or(&[][..], |before| &before.wheels) {
        let now = lock.wheels.iter().find(|now| (&now.name, &now.version) == (&wheel.name, &wheel.version));
        if let Some(now) = now.filter(|now| now.digest != wheel.digest) {
            bail!(
                "{} {} has the digest {} at the index, and {} in {LOCK}: it was changed after it was published",
                now.name,
                now.version,
                now.digest,
                wheel.digest
            );
        }
    }
    for wheel in &lock.wheels {
        fs::rename(found.join(wheel.file()), work.join("wheels").join(wheel.file()))?;
    }
    Ok(lock)
}

/// The wheels of the lock file, each with its digest; what is not there is downloaded.
fn fetch(python: &Path, work: &Path, lock: &Lock) -> anyhow::Result<Vec<PathBuf>> {
    let wheels = work.join("wheels");
    let good = |path: &Path, digest: &Digest| fs::read(path).is_ok_and(|bytes| Digest::sha256(&bytes) == *digest);
    if !lock.wheels.iter().all(|wheel| good(&wheels.join(wheel.file()), &wheel.digest)) {
        empty(&wheels)?;
        for wheel in lock.wheels.iter().filter(|wheel| requirement::works_without(&wheel.name)) {
            compiled::strip(python, &format!("{}=={}", wheel.name, wheel.version), &wheels)?;
        }
        let requirements = work.join("requirements.txt");
        fs::write(&requirements, lock.requirements())?;
        let mut pip = pip(python, &wheels, "download");
        pip.args(PURE).args(["--no-deps", "--require-hashes", "--dest", "."]);
        pip.arg("--find-links").arg(&wheels).arg("--requirement").arg(&requirements);
        run(&mut pip).with_context(|| format!("the packages of {LOCK} could not be downloaded"))?;
    }
    let mut files = Vec::new();
    for wheel in &lock.wheels {
        let path = wheels.join(wheel.file());
        ensure!(good(&path, &wheel.digest), "{} is not what {LOCK} names: it has another digest", path.display());
        files.push(path);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_is_not_done() {
        let work = tempfile::tempdir().unwrap();
        let (folder, done) = (work.path().join("packages"), work.path().join("packages.lock"));
        let fill = || -> anyhow::Result<()> { Ok(fs::write(folder.join("one.py"), "")?) };
        refill(&folder, &done, "one", fill).unwrap();
        assert_eq!(fs::read_to_string(&done).unwrap(), "one");
        refill(&folder, &done, "other", || bail!("the disk is full")).unwrap_err();
        assert!(!done.exists() && !folder.join("one.py").exists(), "neither of them is there");
        refill(&folder, &done, "one", fill).unwrap();
        assert!(done.is_file() && folder.join("one.py").is_file());
    }
}
