//! A folder for one server: its configuration, the tree that it may grant, and files outside that tree.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// The secret outside the tree, which no guest may read.
pub const SECRET: &str = "the secret of the outside";

/// `work/` may be granted; `outside/` lies beside it and holds a secret.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// Creates a small tree, including links that lead out of it.
    pub fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().expect("a folder for temporary files") };
        home.fill().expect("filling a new folder");
        home
    }

    fn fill(&self) -> std::io::Result<()> {
        let (work, outside) = (self.work(), self.outside());
        fs::create_dir_all(work.join("sub"))?;
        fs::create_dir(&outside)?;
        fs::write(work.join("inside.txt"), "inside")?;
        fs::write(outside.join("secret.txt"), SECRET)?;
        symlink(outside.join("secret.txt"), work.join("absolute-link"))?;
        symlink("../outside/secret.txt", work.join("relative-link"))?;
        symlink("../outside", work.join("folder-link"))?;
        symlink(&outside, work.join("absolute-folder-link"))?;
        symlink("relative-link", work.join("chain-link"))?;
        symlink("folder-link", work.join("chain-folder-link"))?;
        symlink("../../outside", work.join("sub/folder-link"))?;
        symlink("../outside/new.txt", work.join("dangling-link"))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The tree to grant.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// The folder beside it.
    pub fn outside(&self) -> PathBuf {
        self.path().join("outside")
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// Everything about a tree that an escape could change, as text: names, kinds, modes, times, contents.
pub fn fingerprint(folder: &Path) -> String {
    let mut text = String::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (mode, links, changed) = (metadata.mode(), metadata.nlink(), metadata.mtime_nsec());
        let _ = write!(text, "{} {mode:o} {links} {}.{changed}", path.display(), metadata.mtime());
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            pending.sort();
        } else if metadata.is_symlink() {
            let _ = write!(text, " -> {:?}", fs::read_link(&path));
        } else {
            let _ = write!(text, " = {:?}", fs::read(&path));
        }
        text.push('\n');
    }
    text
}
