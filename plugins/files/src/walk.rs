//! Files of a tree, one by one in a fixed order.

use std::fs;
use std::path::PathBuf;

/// Not written by hand, and often larger than everything else. Searched only when asked for by name.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Walks over the regular files below some folders, sorted by name, without following links: they could lead in circles,
/// and what they show inside the granted folders is found there anyway. Folders that cannot be read are skipped.
pub(crate) struct Walk {
    /// Last is next.
    ahead: Vec<PathBuf>,
}

impl Walk {
    /// `start` may also be single files.
    pub(crate) fn new(mut start: Vec<PathBuf>) -> Self {
        start.reverse();
        Self { ahead: start }
    }

    fn enter(&mut self, folder: &PathBuf) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut inside: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| {
                let kind = entry.file_type();
                let skipped = || entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name));
                kind.is_ok_and(|kind| kind.is_file() || kind.is_dir() && !skipped())
            })
            .map(|entry| entry.path())
            .collect();
        inside.sort_unstable_by(|a, b| b.cmp(a));
        self.ahead.append(&mut inside);
    }
}

impl Iterator for Walk {
    /// A file and its size.
    type Item = (PathBuf, u64);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(path) = self.ahead.pop() {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.enter(&path),
                Ok(metadata) if metadata.is_file() => return Some((path, metadata.len())),
                _ => {}
            }
        }
        None
    }
}
