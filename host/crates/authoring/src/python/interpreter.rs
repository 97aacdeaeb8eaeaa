//! A started Python with the standard library and the SDK: a component whose memory has all that plugins have in common.
//! componentize-py makes it once, for all builds. Each build lets it load the author's modules, and keeps the memory that they
//! leave.

use super::componentize::{ENTRY, componentize};
use crate::component::records_as_tuples;
use crate::component::single_module::{self, Linking};
use crate::environment::BuildEnvironment;
use crate::toolchain::{INSTALLED, PythonTools, lock_file, once};
use crate::{embedded, wit};
use anyhow::Context;
use platform::clock::{Clock as _, SystemClock};
use plugins::package::Digest;
use runtime::engine::{CompileCache, CompileWorker, MountedFolder, SnapshotCompiler};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// All that a plugin can export. A finished component keeps only the exports that its plugin has.
const EXPORTS: [&str; 5] = ["tools", "resources", "prompts", "completions", "reconcile"];
/// What it imports of WASI besides what Python needs. A finished component keeps only the imports that its plugin requests.
const WASI: [&str; 2] = [wit::HTTP, "cli/environment"];
/// The function that runs [`TEXT`] and reports how it failed.
const RUN: &str = "run";
/// The function that makes the C library forget the folders that it has opened.
const FORGET_FOLDERS: &str = "forget-folders";
/// The function of the C library that does this.
const RESET_PREOPENS: &str = "__wasilibc_reset_preopens";
/// The file that is run, in the folder that the interpreter sees as `/0`.
const TEXT: &str = "run.py";
const COMPONENT: &str = "interpreter.wasm";

/// Between the name of the tools and the version of the SDK, in the names of folders of the cache.
const LIBRARY: &str = "-library-";
/// How long an unused interpreter of another version of this program is kept. Making it again takes half a minute.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);

pub(crate) struct Interpreter<'a> {
    environment: &'a BuildEnvironment,
    folder: PathBuf,
}

/// Makes the interpreter. All plugins get what is in it, so nothing of it may come from the folder of one of them.
fn make(environment: &BuildEnvironment, tools: &PythonTools, folder: &Path) -> anyhow::Result<()> {
    let (sdk, bound, built) = (folder.join("sdk"), folder.join("wit"), folder.join("built.wasm"));
    let entry = folder.join(format!("{ENTRY}.py"));
    embedded::unpack("python", &sdk)?;
    let path = [folder.to_owned(), tools.zones()?, sdk];
    // Writes the archive in a run of its own: what this leaves in the memory would otherwise be in each plugin.
    wit::write(&bound, &wit::world(&[], &[], &[]), |text| text)?;
    fs::write(
        &entry,
        "from portcullis_image import standard\nstandard.write(\"/0/standard.archive\", \"/2\", \"/1\")\n",
    )?;
    componentize(&tools.interpreter(), &bound, &path, &built)?;
    let functions = [format!("{RUN}: func() -> result<_, string>"), format!("{FORGET_FOLDERS}: func()")];
    let world = wit::world(&EXPORTS.map(str::to_owned), &wit::all_imports(&WASI), &functions);
    wit::write(&bound, &world, |text| records_as_tuples::with_tuples(&text))?;
    fs::write(&entry, "from portcullis_image.interpreter import *\n")?;
    componentize(&tools.interpreter(), &bound, &path, &built)?;
    let bytes = fs::read(&built).context("componentize-py wrote no component")?;
    fs::remove_file(built)?;
    let linking = Linking { replaced: &[(FORGET_FOLDERS, RESET_PREOPENS)], ..Linking::WHOLE };
    let linked = single_module::link(&bytes, &linking).context("cannot link the modules of the interpreter")?;
    fs::write(folder.join(COMPONENT), linked)?;
    // Compiles it now, since builds at the same time would do it several times.
    let empty = folder.join("empty");
    fs::create_dir_all(&empty)?;
    Interpreter { environment, folder: folder.to_owned() }.run("", &empty, &[])
}

impl<'a> Interpreter<'a> {
    /// The interpreter of these tools, from the user's cache.
    pub(crate) fn installed(tools: &PythonTools, environment: &'a BuildEnvironment) -> anyhow::Result<Self> {
        let name = format!("{}{LIBRARY}{}", tools.name(), &version()[..16]);
        let what = "the standard library of Python";
        let folder = once(environment, &name, what, |folder| make(environment, tools, folder))?;
        remove_unused(folder.parent().unwrap_or(&folder), SystemClock.wall());
        Ok(Self { environment, folder })
    }

    /// A name for the version of its standard library and SDK.
    pub(crate) fn version(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Runs a text of Python, which sees the folder `own` as `/0` and may write into it, and the other folders under their
    /// names.
    pub(crate) fn run(&self, text: &str, own: &Path, others: &[(&str, &Path)]) -> anyhow::Result<()> {
        self.start(&[text.to_owned()], own, others, false).map(drop)
    }

    /// Runs texts of Python one after the other, and makes a component of the memory that they leave.
    pub(crate) fn run_and_keep(
        &self,
        texts: &[String],
        own: &Path,
        others: &[(&str, &Path)],
    ) -> anyhow::Result<Vec<u8>> {
        self.start(texts, own, others, true)
    }

    fn start(&self, texts: &[String], own: &Path, others: &[(&str, &Path)], is_kept: bool) -> anyhow::Result<Vec<u8>> {
        let component = fs::read(self.folder.join(COMPONENT)).context("the interpreter is not there")?;
        let mount = |(guest, host): (&str, &Path)| MountedFolder {
            host: host.to_owned(),
            guest: guest.to_owned(),
            is_writable: !is_kept && host == own,
        };
        let folders: Vec<_> = [("/0", own)].into_iter().chain(others.iter().copied()).map(mount).collect();
        let cache = CompileCache::open(self.environment.cache()?)?;
        let compiler = SnapshotCompiler { cache, worker: CompileWorker::new(self.environment.worker.clone()) };
        let run = async {
            let mut running = compiler.start(&component, &folders).await?;
            for text in texts {
                fs::write(own.join(TEXT), text)?;
                running.run(RUN).await?;
                // It has opened them for this text, and another one is to find what it frees here used up.
                running.call(FORGET_FOLDERS).await?;
            }
            anyhow::Ok(if is_kept { running.snapshot().await? } else { Vec::new() })
        };
        let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        waiting.block_on(run)
    }
}

/// Removes what other versions have made and nobody has used for long. What cannot be removed stays.
fn remove_unused(all: &Path, now: SystemTime) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !name.contains(LIBRARY) || !path.is_dir() {
            continue;
        }
        // The lock keeps others from using it meanwhile. The marker is removed first, so that a partly removed folder does not
        // count as complete.
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

/// A digest of all that goes into it: the SDK, the interfaces, and this program.
fn version() -> String {
    let program = ("program", env!("CARGO_PKG_VERSION").as_bytes());
    let files = ["python", "wit", "wasi"].into_iter().flat_map(embedded::below).chain([program]);
    let all: Vec<u8> = files.flat_map(|(name, bytes)| [name.as_bytes(), bytes].concat()).collect();
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
