//! The files of `tests/libraries`, as far as plugins are made of them; the suite reads what is expected.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::language::{Language, data_folder};
use crate::repo::Repo;

/// A library, and a few lines that use it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Library {
    pub(super) name: String,
    /// The body of a function, without which it is only built.
    #[serde(default, rename = "use")]
    pub(super) code: String,
    /// What the code imports besides: text in JavaScript, names in others.
    #[serde(default)]
    pub(super) imports: Imports,
    /// Features of a crate.
    #[serde(default)]
    pub(super) features: Vec<String>,
    /// A crate without its default features; in Go, a module whose packages `imports` names.
    #[serde(default)]
    pub(super) bare: bool,
    /// It sends requests.
    #[serde(default)]
    pub(super) http: bool,
    /// The tests of the suite call it.
    #[serde(default)]
    pub(super) ci: bool,
    /// It is too large to be beside others.
    #[serde(default)]
    pub(super) alone: bool,
    /// It does not work, and this is in the error.
    pub(super) fails: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Imports {
    Text(String),
    Names(Vec<String>),
}

impl Default for Imports {
    fn default() -> Self {
        Self::Names(Vec::new())
    }
}

impl Imports {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Names(_) => "",
        }
    }

    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::Text(_) => &[],
            Self::Names(names) => names,
        }
    }
}

#[derive(Deserialize)]
struct File {
    library: Vec<Library>,
}

pub(super) fn read(repo: &Repo, language: Language) -> Result<Vec<Library>> {
    let file = data_folder(repo).join(language.name()).with_extension("toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", repo.show(&file)))?;
    let File { library } = toml::from_str(&text).with_context(|| format!("{} is not valid", repo.show(&file)))?;
    ensure!(library.iter().any(|one| one.ci), "{} has no library for the tests of the suite", repo.show(&file));
    Ok(library)
}
