//! One installed plugin, as the lock file has it.

use crate::policy::{Digest, Grants, Limits, Requests};
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
}

/// One installed plugin.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it is looked for, as the operator said it.
    pub reference: String,
    /// Whether it is loaded.
    pub enabled: bool,
    /// Whether its tools are exposed as `<plugin>__<tool>`.
    pub prefix: bool,
    /// Whether what an agent-side tool answers is for its caller and the caller's client only.
    pub private: bool,
    /// The highest version that was ever here; nothing below it comes in by itself.
    pub highest: Option<String>,
    /// When the operator agreed to what is installed.
    pub approved: SystemTime,
    /// What is loaded.
    pub installed: Version,
    /// What waits for the operator's consent.
    pub staged: Option<Version>,
    /// What was loaded before.
    pub previous: Option<Version>,
    /// What the operator gave to what is installed.
    pub grants: Grants,
    /// The ceilings of its calls.
    pub limits: Limits,
    /// The same two as they were written: comments and units are the operator's.
    pub(super) grants_table: Table,
    pub(super) limits_table: Table,
}

/// What an entry is in the file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Read {
    reference: String,
    enabled: bool,
    #[serde(default = "yes")]
    prefix: bool,
    #[serde(default)]
    private: bool,
    highest: Option<String>,
    #[serde(with = "humantime_serde")]
    approved: SystemTime,
    installed: Version,
    staged: Option<Version>,
    previous: Option<Version>,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    limits: Limits,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Written<'a> {
    reference: &'a str,
    enabled: bool,
    #[serde(skip_serializing_if = "is_true")]
    prefix: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    highest: Option<&'a str>,
    #[serde(with = "humantime_serde")]
    approved: SystemTime,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

impl Read {
    /// With its grants and limits as they were written.
    pub(super) fn with(self, grants_table: Table, limits_table: Table) -> Entry {
        let Self {
            reference,
            enabled,
            prefix,
            private,
            highest,
            approved,
            installed,
            staged,
            previous,
            grants,
            limits,
        } = self;
        Entry {
            reference,
            enabled,
            prefix,
            private,
            highest,
            approved,
            installed,
            staged,
            previous,
            grants,
            limits,
            grants_table,
            limits_table,
        }
    }
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
            limits: Limits::default(),
            grants_table: Table::new(),
            limits_table: Table::new(),
        }
    }

    /// All versions that have to be kept.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        [Some(&self.installed), self.staged.as_ref(), self.previous.as_ref()].into_iter().flatten()
    }

    /// The grants as they are written.
    pub fn grants_table(&self) -> &Table {
        &self.grants_table
    }

    /// Puts other grants in the place of these; the error is a sentence, and nothing is changed then.
    pub fn set_grants(&mut self, table: Table) -> Result<(), String> {
        self.grants = toml::from_str(&table.to_string()).map_err(|error| error.to_string())?;
        self.grants_table = table;
        Ok(())
    }

    /// What stands in the file.
    pub(super) fn table(&self) -> Result<Table, toml_edit::ser::Error> {
        let head = Written {
            reference: &self.reference,
            enabled: self.enabled,
            prefix: self.prefix,
            private: self.private,
            highest: self.highest.as_deref(),
            approved: self.approved,
        };
        let mut table = toml_edit::ser::to_document(&head)?.into_table();
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
        for (key, part) in [("grants", &self.grants_table), ("limits", &self.limits_table)] {
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
