//! What a plugin in Python can import during a call: the standard library, and the packages that it depends on. Each is compiled and packed
//! once, by the Python that runs it; a build takes the archives into the image.

use super::command::step;
use super::componentize::{ENTRY, componentize};
use super::embedded;
use super::folders::empty;
use super::packages::Packages;
use super::toolchain::{INSTALLED, PythonTools, lock_file, once};
use super::wit;
use anyhow::Context;
use platform::clock::{Clock as _, SystemClock};
use plugins::package::Digest;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Between the name of the tools and the version of the SDK, in the names of folders of the cache.
const LIBRARY: &str = "-library-";
/// How long what another version of this program has packed is kept without being used. To pack it again takes seconds.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);

/// The standard library, the zones of time and the SDK, packed in the user's cache.
pub(super) fn standard(tools: &PythonTools) -> anyhow::Result<PathBuf> {
    let name = format!("{}{LIBRARY}{}", tools.name(), &version_of_the_sdk()[..16]);
    let folder = once(&name, "the standard library of Python", |folder| {
        let write = "from portcullis_image import standard\nstandard.write(\"/0/standard.archive\", \"/1\", \"/2\")\n";
        // All plugins get this archive, so nothing in it may come from the folder of one.
        let sdk = folder.join("sdk");
        embedded::unpack("python", &sdk)?;
        pack(&tools.interpreter(), folder, write, &[sdk, tools.zones()?])
    })?;
    remove_unused(folder.parent().unwrap_or(&folder), SystemClock.wall());
    Ok(folder.join("standard.archive"))
}

/// The packages of a plugin, packed beside them.
pub(super) fn of_packages(packages: &Packages, python: &Path, sdk: &Path, standard: &Path) -> anyhow::Result<PathBuf> {
    let library = standard.parent().and_then(Path::file_name).unwrap_or_default();
    let folder = packages.packed(library);
    let archive = folder.join("packages.archive");
    if !archive.is_file() {
        // Without what other versions of this program have packed there.
        empty(folder.parent().unwrap_or(&folder))?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = "from portcullis_image import archive\n\
                     archive.write(\"/0/packages.part\", archive.Part(\"/2\", \"/3\"))\n";
        step("compiling the packages", || {
            pack(python, &folder, write, &[sdk.to_owned(), packages.folder.clone()])?;
            // Under its name when it is whole.
            fs::rename(folder.join("packages.part"), &archive).context("the packages were not packed")
        })?;
    }
    Ok(archive)
}

/// Runs Python with these folders as `/1`, `/2` and so on; it writes into `folder`, which is `/0`. The component is of no use.
fn pack(python: &Path, folder: &Path, text: &str, others: &[PathBuf]) -> anyhow::Result<()> {
    let (bound, unused) = (folder.join("wit"), folder.join("unused.wasm"));
    fs::create_dir_all(&bound)?;
    fs::write(bound.join("world.wit"), format!("package portcullis:build;\n\nworld {} {{}}\n", wit::WORLD))?;
    fs::write(folder.join(format!("{ENTRY}.py")), text)?;
    let path: Vec<PathBuf> = [folder.to_owned()].into_iter().chain(others.iter().cloned()).collect();
    componentize(python, &bound, &path, &unused)?;
    fs::remove_file(unused)?;
    Ok(())
}

/// Removes what other versions have packed and nobody has used for long. What cannot be removed stays.
fn remove_unused(all: &Path, now: SystemTime) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !name.contains(LIBRARY) || !path.is_dir() {
            continue;
        }
        // Nobody begins to use it meanwhile, and what is removed in part is not taken for whole.
        let Ok(lock) = lock_file(all, &name) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let installed = path.join(INSTALLED);
        let used = fs::metadata(&installed).and_then(|it| it.modified());
        let is_old = used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > UNUSED));
        if is_old && fs::remove_file(installed).is_ok() {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// A digest of all its files.
fn version_of_the_sdk() -> String {
    let all: Vec<u8> = embedded::below("python").flat_map(|(name, bytes)| [name.as_bytes(), bytes].concat()).collect();
    Digest::sha256(&all).to_string().trim_start_matches("sha256:").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_versions_have_packed_goes_when_nobody_uses_it() {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        let folder = tempfile::tempdir().unwrap();
        let (all, now) = (folder.path(), SystemClock.wall());
        let make = |name: &str, days: u32| {
            fs::create_dir(all.join(name)).unwrap();
            let installed = fs::File::create(all.join(name).join(INSTALLED)).unwrap();
            installed.set_modified(now - days * DAY).unwrap();
        };
        for (name, days) in
            [("python-a", 900), ("python-a-library-1", 61), ("python-a-library-2", 59), ("python-b-library-1", 61)]
        {
            make(name, days);
        }
        fs::create_dir(all.join("python-a-library-3")).unwrap();
        let in_use = lock_file(all, "python-b-library-1").unwrap();
        in_use.lock().unwrap();
        remove_unused(all, now);
        let mut left: Vec<_> =
            fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
        left.sort();
        let kept = ["python-a", "python-a-library-2", "python-a-library-3", "python-b-library-1"];
        assert_eq!(left, kept.map(|name| all.join(name)), "tools, what is used, and what is being made");
    }
}
