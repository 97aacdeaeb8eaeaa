//! What a survey finds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::measure::Measured;

/// How many of the largest files are named.
pub(crate) const LARGEST: usize = 10;

/// The survey of a tree.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// The folder that was surveyed.
    pub(crate) path: String,
    pub(crate) totals: Totals,
    /// Most lines first.
    pub(crate) languages: Vec<Language>,
    /// Largest files of the tree.
    pub(crate) largest: Vec<Large>,
    /// Every folder with files of its own, in alphabetical order.
    pub(crate) folders: Vec<FolderReport>,
    pub(crate) skipped: Skipped,
    /// True when the tree has more files than a survey looks at.
    pub(crate) cut: bool,
    pub(crate) note: Note,
}

/// Sums over text files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    /// Words TODO and FIXME.
    pub(crate) todos: u64,
}

/// Sums over one language.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    pub(crate) files: u64,
    pub(crate) lines: u64,
}

/// A large file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Large {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

/// Sums over one folder, without the folders in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FolderReport {
    pub(crate) path: String,
    #[serde(flatten)]
    pub(crate) totals: Totals,
}

/// Files that were not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Skipped {
    pub(crate) binary: u64,
    pub(crate) too_large: u64,
    /// Files and folders that could not be read.
    pub(crate) unreadable: u64,
}

/// What became of the summary.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum Note {
    /// Saved by the agent's `notes.add`.
    Saved { id: String, path: String },
    /// It could not be saved; says why.
    NotSaved { reason: String },
    /// Nobody asked for one.
    NotWanted,
}

/// Sums up files, of a folder or of the tree.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) totals: Totals,
    pub(crate) skipped: Skipped,
    languages: BTreeMap<&'static str, (u64, u64)>,
    largest: Vec<Large>,
}

impl Summary {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: &str, language: &'static str, measured: Measured) {
        match measured {
            Measured::Binary => self.skipped.binary += 1,
            Measured::TooLarge => self.skipped.too_large += 1,
            Measured::Text { bytes, lines, todos } => {
                self.totals.add(Totals { files: 1, lines, bytes, todos });
                let sums = self.languages.entry(language).or_default();
                *sums = (sums.0 + 1, sums.1 + lines);
                self.rank(Large { path: path.to_owned(), bytes, lines });
            }
        }
    }

    /// Adds a folder's files.
    pub(crate) fn merge(&mut self, folder: &Self) {
        self.totals.add(folder.totals);
        self.skipped.binary += folder.skipped.binary;
        self.skipped.too_large += folder.skipped.too_large;
        self.skipped.unreadable += folder.skipped.unreadable;
        for (name, (files, lines)) in &folder.languages {
            let sums = self.languages.entry(name).or_default();
            *sums = (sums.0 + files, sums.1 + lines);
        }
        folder.largest.iter().cloned().for_each(|file| self.rank(file));
    }

    /// Languages, most lines first.
    pub(crate) fn languages(&self) -> Vec<Language> {
        let language = |(&name, &(files, lines)): (&&'static str, &(u64, u64))| Language { name, files, lines };
        let mut languages: Vec<Language> = self.languages.iter().map(language).collect();
        languages.sort_by_key(|language| std::cmp::Reverse(language.lines));
        languages
    }

    /// The largest files, largest first.
    pub(crate) fn largest(&self) -> &[Large] {
        &self.largest
    }

    fn rank(&mut self, file: Large) {
        let place = self.largest.partition_point(|other| (other.bytes, &file.path) >= (file.bytes, &other.path));
        if place < LARGEST {
            self.largest.insert(place, file);
            self.largest.truncate(LARGEST);
        }
    }
}

impl Totals {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.todos += other.todos;
    }
}
