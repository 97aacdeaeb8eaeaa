//! The sources of a plugin at one moment: its folder, without hidden folders, files that tools make, and the component itself.

use anyhow::{Context, ensure};
use plugins::package::{Digest, FileStamp};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A folder with more files does not hold a plugin's sources: the user has probably started in a home folder. Bounds the memory
/// and the time of each look.
const MAX_FILES: usize = 10_000;
/// Bytes that one look reads. Files beyond that are compared by size and time alone, so that large data does not delay a look.
const MAX_READ: u64 = 64 << 20;
/// Folders that tools make, whatever they contain.
const MADE: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];
/// Files that mark a folder as made by a tool: of caches (cargo, pytest), and of Python's environments.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The folder of the sources, and the files in it that are not sources.
#[derive(Debug, Clone)]
pub(super) struct SourceFolder {
    pub(super) folder: PathBuf,
    /// The component, the file to which it is written first, and the configuration, which the server reads itself.
    pub(super) others: Vec<PathBuf>,
}

/// The sources by path, relative to the folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SourceSnapshot(BTreeMap<PathBuf, Source>);

#[derive(Debug, Clone)]
struct Source {
    stamp: FileStamp,
    digest: Option<Digest>,
}

/// Two sources are equal if their bytes are: a file that is saved without a change, or rewritten by a build, has not changed.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        match (&self.digest, &other.digest) {
            (Some(one), Some(other)) => one == other,
            _ => self.stamp.size == other.stamp.size && self.stamp.modified == other.stamp.modified,
        }
    }
}

impl SourceFolder {
    /// Takes a snapshot. Files that are as in `before` are not read again. `enter` is called with each folder before it is
    /// read. Blocks.
    pub(super) fn look(&self, before: &SourceSnapshot, mut enter: impl FnMut(&Path)) -> anyhow::Result<SourceSnapshot> {
        let mut found = BTreeMap::new();
        let (mut folders, mut budget) = (vec![self.folder.clone()], MAX_READ);
        while let Some(folder) = folders.pop() {
            enter(&folder);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                // The folder was removed meanwhile, or this user may not read it.
                Err(_) if folder != self.folder => continue,
                Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
            };
            for entry in entries.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                // A link to a folder is not followed: it could lead round in a circle.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.extend(is_source_folder(&path, &name.to_string_lossy()).then_some(path));
                } else if is_source(&name.to_string_lossy()) && !self.others.contains(&path) {
                    let relative = path.strip_prefix(&self.folder).unwrap_or(&path).to_owned();
                    if let Some(source) = Source::read(&path, before.0.get(&relative), &mut budget) {
                        found.insert(relative, source);
                    }
                }
                ensure!(
                    found.len() + folders.len() <= MAX_FILES,
                    "{} has more than {MAX_FILES} files and folders, which are not all sources of a plugin: begin in the plugin's folder",
                    self.folder.display()
                );
            }
        }
        Ok(SourceSnapshot(found))
    }
}

fn is_source_folder(path: &Path, name: &str) -> bool {
    !name.starts_with('.') && !MADE.contains(&name) && !MARKS.iter().any(|mark| path.join(mark).is_file())
}

/// Editors leave files beside those that they save.
fn is_source(name: &str) -> bool {
    !name.starts_with(['.', '#']) && !name.ends_with('~')
}

impl Source {
    /// None if it was removed meanwhile, or is not a file. Subtracts the bytes that it reads from the budget.
    fn read(path: &Path, before: Option<&Self>, budget: &mut u64) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let stamp = FileStamp::from_metadata(&metadata);
        if let Some(before) = before.filter(|before| before.stamp == stamp) {
            return Some(before.clone());
        }
        let bytes = match budget.checked_sub(stamp.size) {
            Some(left) => {
                *budget = left;
                fs::read(path).ok()
            }
            None => None,
        };
        Some(Self { stamp, digest: bytes.as_deref().map(Digest::sha256) })
    }
}

impl SourceSnapshot {
    /// The files that were changed, added or removed.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<PathBuf> {
        let mut changed: Vec<_> = self.0.iter().filter(|(path, now)| before.0.get(*path) != Some(now)).collect();
        changed.extend(before.0.iter().filter(|(path, _)| !self.0.contains_key(*path)));
        let mut paths: Vec<PathBuf> = changed.into_iter().map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }

    /// The newest file, if it is newer than this time.
    pub(super) fn newer_than(&self, time: SystemTime) -> Option<&Path> {
        let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let time = (i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX), i64::from(since_1970.subsec_nanos()));
        let newest = self.0.iter().max_by_key(|(_, source)| source.stamp.modified);
        newest.filter(|(_, source)| source.stamp.modified > time).map(|(path, _)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> (tempfile::TempDir, SourceFolder) {
        let home = tempfile::tempdir().unwrap();
        for file in files {
            write(home.path(), file, "one");
        }
        let folder = home.path().to_owned();
        let others = ["a.wasm", "a.partial", "portcullis.toml"].map(|name| folder.join(name)).to_vec();
        (home, SourceFolder { folder, others })
    }

    fn write(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn paths(of: &[&str]) -> Vec<PathBuf> {
        of.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_tools_make_is_no_source() {
        let (home, sources) = folder(&[
            "src/lib.rs",
            "src/deep/er/mod.rs",
            "manifest.json",
            "lib.wasm",
            "a.wasm",
            "a.partial",
            "portcullis.toml",
            "target/debug/lib.rs",
            "node_modules/a/index.js",
            "src/__pycache__/a.pyc",
            ".portcullis/c/a.c",
            ".git/HEAD",
            ".swp",
            "src/lib.rs~",
            "#lib.rs#",
            "built/CACHEDIR.TAG",
            "built/x",
            "env/pyvenv.cfg",
            "env/lib/x.py",
        ]);
        std::os::unix::fs::symlink(home.path(), home.path().join("src/round")).unwrap();
        std::os::unix::fs::symlink("nowhere", home.path().join("src/dangling")).unwrap();
        let mut entered = Vec::new();
        let now = sources.look(&SourceSnapshot::default(), |folder| entered.push(folder.to_owned())).unwrap();
        let expected = paths(&["lib.wasm", "manifest.json", "src/deep/er/mod.rs", "src/lib.rs"]);
        assert_eq!(now.changes_since(&SourceSnapshot::default()), expected);
        entered.sort();
        let below = ["src", "src/deep", "src/deep/er"].map(|name| home.path().join(name));
        assert_eq!(entered, [vec![home.path().to_owned()], below.to_vec()].concat());
    }

    #[test]
    fn changes_are_those_of_bytes() {
        let (home, sources) = folder(&["a", "b", "c"]);
        let look = |before: &SourceSnapshot| sources.look(before, |_| {}).unwrap();
        let first = look(&SourceSnapshot::default());
        write(home.path(), "a", "two");
        write(home.path(), "new", "");
        fs::remove_file(home.path().join("b")).unwrap();
        // Saved again as it was, under another inode.
        write(home.path(), "d", "one");
        fs::rename(home.path().join("d"), home.path().join("c")).unwrap();
        let second = look(&first);
        assert_eq!(second.changes_since(&first), paths(&["a", "b", "new"]));
        assert_eq!(look(&second), second);
        write(home.path(), "a", "one");
        write(home.path(), "b", "one");
        fs::remove_file(home.path().join("new")).unwrap();
        assert!(look(&second).changes_since(&first).is_empty(), "back as it was");
    }

    #[test]
    fn large_files_are_not_read() {
        let (home, sources) = folder(&["small"]);
        let path = home.path().join("data");
        fs::File::create(&path).unwrap().set_len(MAX_READ + 1).unwrap();
        let first = sources.look(&SourceSnapshot::default(), |_| {}).unwrap();
        assert!(first.0[Path::new("data")].digest.is_none() && first.0[Path::new("small")].digest.is_some());
        fs::File::options().write(true).open(&path).unwrap().set_len(MAX_READ + 2).unwrap();
        assert_eq!(sources.look(&first, |_| {}).unwrap().changes_since(&first), paths(&["data"]));
    }

    #[test]
    fn the_newest_source_decides_what_is_old() {
        let (home, sources) = folder(&["a", "b"]);
        let set = |name: &str, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(home.path().join(name)).unwrap().set_modified(time).unwrap();
            time
        };
        let (old, new) = (set("a", 100), set("b", 200));
        let now = sources.look(&SourceSnapshot::default(), |_| {}).unwrap();
        assert_eq!(now.newer_than(old), Some(Path::new("b")));
        assert_eq!(now.newer_than(new), None);
    }

    #[test]
    fn a_folder_of_everything_is_refused() {
        let (home, sources) = folder(&[]);
        for number in 0..=MAX_FILES {
            fs::File::create(home.path().join(number.to_string())).unwrap();
        }
        let error = sources.look(&SourceSnapshot::default(), |_| {}).unwrap_err().to_string();
        assert!(error.contains("begin in the plugin's folder"), "{error}");
    }
}
