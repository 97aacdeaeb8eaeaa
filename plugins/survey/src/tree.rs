//! The tree's folders and files, before any file is read: progress needs to know how much there is.

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_guest::filesystem::explain;
use portcullis_guest::{ToolError, log};

/// Not written by hand, and often larger than everything else.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Bounds memory: names of this many files take a few MiB.
const MOST_FILES: usize = 100_000;

/// A folder that has files of its own.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Names, sorted.
    pub(crate) files: Vec<String>,
}

/// What was found, in a fixed order: each folder before the folders in it, names in order.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) folders: Vec<Folder>,
    pub(crate) files: usize,
    /// Folders that could not be listed.
    pub(crate) unreadable: usize,
    /// True when there were more than `MOST_FILES`.
    pub(crate) cut: bool,
}

impl Tree {
    /// Looks through everything below `root`. Links are not followed: they could lead in circles.
    pub(crate) fn below(root: &Path) -> Result<Self, ToolError> {
        let mut tree = Self::default();
        let mut ahead = vec![root.to_owned()];
        while let Some(path) = ahead.pop() {
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if path == root => return Err(explain(root, &error)),
                Err(error) => {
                    log::info!("skipped {}: {error}", path.display());
                    tree.unreadable += 1;
                    continue;
                }
            };
            let (mut folders, mut files) = (Vec::new(), Vec::new());
            for entry in entries.flatten() {
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
                if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    files.push(name);
                }
            }
            files.sort_unstable();
            folders.sort_unstable_by(|a, b| b.cmp(a));
            ahead.append(&mut folders);
            tree.add(path, files);
            if tree.cut {
                break;
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: PathBuf, mut files: Vec<String>) {
        let room = MOST_FILES - self.files;
        self.cut = files.len() > room;
        files.truncate(room);
        self.files += files.len();
        if !files.is_empty() {
            self.folders.push(Folder { path, files });
        }
    }
}
