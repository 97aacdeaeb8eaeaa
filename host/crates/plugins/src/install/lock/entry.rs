//! One installed plugin, as the lock file has it.

use crate::package::Claims;
use policy::{Digest, Grants, Limits, Requests};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;
use toml_edit::{Item, Table};

/// One version of a plugin: what was fetched, and what it turned out to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Version {
    /// What its author calls it; none: it has no manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The component's.
    pub digest: Digest,
    /// The component's, in bytes.
    pub size: u64,
    /// Where it is published, exactly.
    pub resolved: String,
    /// Who vouched for it; none: nobody, and the source's policy asks for nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// When it was brought here.
    #[serde(with = "humantime_serde")]
    pub fetched: SystemTime,
    /// Of everything it says it offers; what is loaded must say the same.
    pub definitions: Digest,
    /// What it imports, sorted.
    pub imports: Vec<String>,
    /// What its manifest asks for.
    #[serde(default)]
    pub requests: Requests,
    /// What the component claims of itself: licence, source and the like. Nobody has checked it.
    #[serde(default, skip_serializing_if = "Claims::is_empty")]
    pub claims: Claims,
    /// The same, as it is claimed where the component is published.
    #[serde(default, skip_serializing_if = "Claims::is_empty")]
    pub published_claims: Claims,
}

/// One installed plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// Where it is looked for, as the operator said it.
    pub reference: String,
    /// Whether it is loaded.
    pub enabled: bool,
    /// Whether its tools are exposed as `<plugin>__<tool>`.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub prefix: bool,
    /// Whether what an agent-side tool answers is for its caller and the caller's client only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The highest version that was ever here; nothing below it comes in by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<String>,
    /// When the operator agreed to what is installed.
    #[serde(with = "humantime_serde")]
    pub approved: SystemTime,
    /// What is loaded.
    #[serde(skip_serializing)]
    pub installed: Version,
    /// What waits for the operator's consent.
    #[serde(skip_serializing)]
    pub staged: Option<Version>,
    /// What was loaded before.
    #[serde(skip_serializing)]
    pub previous: Option<Version>,
    /// What the operator gave to what is installed.
    #[serde(default, skip_serializing)]
    pub grants: Grants,
    /// What had been given to the version before, when it was left.
    #[serde(default, skip_serializing)]
    pub previous_grants: Grants,
    /// The ceilings of its calls.
    #[serde(default, skip_serializing)]
    pub limits: Limits,
    /// Grants and limits as they are written, which are the operator's words.
    #[serde(skip)]
    pub(super) texts: Texts,
}

/// Tables of an entry that are kept as they were written.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    pub(super) grants: Table,
    pub(super) previous_grants: Table,
    pub(super) limits: Table,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

impl Entry {
    /// A version that was just agreed to, without any grant.
    pub fn new(reference: String, installed: Version, approved: SystemTime) -> Self {
        Self {
            reference,
            enabled: true,
            prefix: true,
            private: false,
            highest: installed.version.clone(),
            approved,
            installed,
            staged: None,
            previous: None,
            grants: Grants::default(),
            previous_grants: Grants::default(),
            limits: Limits::default(),
            texts: Texts::default(),
        }
    }

    /// All versions that have to be kept.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        [Some(&self.installed), self.staged.as_ref(), self.previous.as_ref()].into_iter().flatten()
    }

    /// The grants as they are written.
    pub fn grants_table(&self) -> &Table {
        &self.texts.grants
    }

    /// Those that had been given to the version before.
    pub fn previous_grants_table(&self) -> &Table {
        &self.texts.previous_grants
    }

    /// Puts other grants in the place of these; the error is a sentence, and nothing is changed then.
    pub fn set_grants(&mut self, table: Table) -> Result<(), String> {
        self.grants = toml::from_str(&table.to_string()).map_err(|error| error.to_string())?;
        self.texts.grants = table;
        Ok(())
    }

    /// Puts a version in the place of what is installed, which becomes the one before, with the grants it had.
    pub(crate) fn swap(&mut self, new: Version) {
        self.staged = None;
        self.previous = Some(std::mem::replace(&mut self.installed, new));
        self.previous_grants = self.grants.clone();
        self.texts.previous_grants = self.texts.grants.clone();
    }

    /// Puts the version before in the place of what is installed, which waits from then on, unless something newer does;
    /// `grants` are given to it. The error is a sentence, and nothing is changed then.
    pub(crate) fn swap_back(&mut self, previous: Version, grants: Table) -> Result<(), String> {
        self.set_grants(grants)?;
        let left = std::mem::replace(&mut self.installed, previous);
        self.staged.get_or_insert(left);
        self.previous = None;
        self.previous_grants = Grants::default();
        self.texts.previous_grants = Table::new();
        Ok(())
    }

    /// What stands in the file.
    pub(super) fn table(&self) -> Result<Table, toml_edit::ser::Error> {
        let mut table = toml_edit::ser::to_document(self)?.into_table();
        let versions = [
            ("installed", Some(&self.installed)),
            ("staged", self.staged.as_ref()),
            ("previous", self.previous.as_ref()),
        ];
        for (key, version) in versions {
            if let Some(version) = version {
                let mut version = toml_edit::ser::to_document(version)?.into_table();
                // One import a line: a change of them is read line by line.
                if let Some(imports) = version.get_mut("imports").and_then(Item::as_array_mut) {
                    imports.iter_mut().for_each(|import| import.decor_mut().set_prefix("\n    "));
                    imports.set_trailing_comma(true);
                    imports.set_trailing("\n");
                }
                table.insert(key, Item::Table(version));
            }
        }
        let Texts { grants, previous_grants, limits } = &self.texts;
        for (key, part) in [("grants", grants), ("previous-grants", previous_grants), ("limits", limits)] {
            if !part.is_empty() {
                let mut part = part.clone();
                part.set_implicit(false);
                part.set_dotted(false);
                part.set_position(None);
                table.insert(key, Item::Table(part));
            }
        }
        Ok(table)
    }
}
