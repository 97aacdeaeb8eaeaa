//! The languages, and where their data is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::repo::Repo;

/// A language with libraries of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Python,
    Javascript,
    Rust,
    Go,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::Python, Self::Javascript, Self::Rust, Self::Go];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Rust => "rust",
            Self::Go => "go",
        }
    }

    /// How many libraries a component has. All of one that holds more would not fit into it, or fail together.
    pub(super) fn together(self) -> usize {
        match self {
            Self::Python | Self::Go => 8,
            Self::Javascript => 12,
            Self::Rust => usize::MAX,
        }
    }
}

/// The folder of the data.
pub(super) fn data_folder(repo: &Repo) -> PathBuf {
    repo.root.join("tests/libraries")
}

pub(super) fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap_or(folder))?;
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
