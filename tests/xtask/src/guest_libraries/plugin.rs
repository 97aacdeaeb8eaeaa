//! A plugin with some libraries, whose one tool uses each by its name: written and built as an author does.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::data::Library;
use super::language::{Language, data_folder};
use super::{rust_and_go, scripts};
use crate::repo::Repo;

pub(super) struct Plugin<'a> {
    pub(super) repo: &'a Repo,
    pub(super) language: Language,
    /// The name of its folder.
    pub(super) name: &'a str,
    pub(super) libraries: &'a [&'a Library],
}

/// Where plugins of a language are built.
pub(super) fn folder(repo: &Repo, language: Language) -> PathBuf {
    repo.target.join("guest-libraries").join(language.name())
}

impl Plugin<'_> {
    pub(super) fn folder(&self) -> PathBuf {
        folder(self.repo, self.language).join(self.name)
    }

    /// Its libraries, for messages.
    pub(super) fn shown(&self) -> String {
        self.libraries.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The inner error is what the author would see.
    pub(super) fn build(&self, to: &Path) -> Result<Result<(), String>> {
        let folder = self.folder();
        // What an earlier list of libraries has left would be a part of it.
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        match self.language {
            Language::Python => scripts::python(self.libraries, &folder)?,
            Language::Javascript => scripts::javascript(self.repo, self.libraries, self.name == "tests", &folder)?,
            Language::Rust => rust_and_go::rust(self.repo, self.libraries, &folder)?,
            Language::Go => rust_and_go::go(self.repo, self.libraries, &folder)?,
        }
        let mut build = self.repo.portcullis();
        build.args(["--quiet", "build"]).arg(&folder).arg("--output").arg(to);
        // Crates that are common to all are compiled once.
        build.env("CARGO_TARGET_DIR", self.repo.target.join("wasm"));
        build.env("PIP_CONSTRAINT", data_folder(self.repo).join("python/constraints.txt"));
        let out = build.output().context("cannot start portcullis")?;
        let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
        Ok(if out.status.success() { Ok(()) } else { Err(said) })
    }
}
