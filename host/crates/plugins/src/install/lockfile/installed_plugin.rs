//! An entry of the lock file: one installed plugin and its versions.

use crate::package::Claims;
use policy::{DataKey, Digest, Grants, Limits, PluginId, Requests};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;
use toml_edit::{Item, Table};

/// One version of a plugin: what was fetched and what the review found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PluginVersion {
    /// The version in its manifest, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub digest: Digest,
    /// In bytes.
    pub size: u64,
    /// The exact reference that it was fetched from.
    pub resolved: String,
    /// The reference where updates are looked for once this version is installed, if it differs from the plugin's current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The signer whose signature was verified. None if the source's policy requires no signature and none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    #[serde(with = "humantime_serde")]
    pub fetched: SystemTime,
    /// Digest of everything that it offers. A component that offers something else is not loaded.
    pub definitions: Digest,
    /// Sorted.
    pub imports: Vec<String>,
    #[serde(default)]
    pub requests: Requests,
    /// Metadata in the component, such as its licence and source. Unverified.
    #[serde(default, skip_serializing_if = "Claims::is_empty")]
    pub claims: Claims,
    /// Metadata where the component is published. Unverified.
    #[serde(default, skip_serializing_if = "Claims::is_empty")]
    pub published_claims: Claims,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InstalledPlugin {
    /// Where updates are looked for, as the operator wrote it.
    pub reference: String,
    pub enabled: bool,
    /// Whether its tools are exposed as `<plugin>__<tool>`.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub prefix: bool,
    /// Whether the answers of an agent-side plugin are only for the caller and the caller's client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The highest version that was ever installed. Updates to a lower one need the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<String>,
    /// The key of the data that it uses. Missing in entries of earlier hosts, which found data by the name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// When the operator approved the installed version.
    #[serde(with = "humantime_serde")]
    pub approved: SystemTime,
    #[serde(skip_serializing)]
    pub installed: PluginVersion,
    /// The version that waits for the operator's consent.
    #[serde(skip_serializing)]
    pub staged: Option<PluginVersion>,
    /// The version that was installed before, for a rollback.
    #[serde(skip_serializing)]
    pub previous: Option<PluginVersion>,
    #[serde(default, skip_serializing)]
    pub grants: Grants,
    /// The grants of the previous version when it was replaced.
    #[serde(default, skip_serializing)]
    pub previous_grants: Grants,
    #[serde(default, skip_serializing)]
    pub limits: Limits,
    /// Tools, each with the argument that is the idempotency key of its calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idempotency: BTreeMap<String, String>,
    #[serde(skip)]
    pub(super) original: OriginalTables,
}

/// The tables that an operator edits, with comments and layout, so that they are written back unchanged.
#[derive(Debug, Clone, Default)]
pub(super) struct OriginalTables {
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

impl InstalledPlugin {
    /// A version that was just approved, without grants.
    pub fn new(reference: String, data: &DataKey, installed: PluginVersion, approved: SystemTime) -> Self {
        Self {
            reference,
            data: Some(data.to_string()),
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
            idempotency: BTreeMap::new(),
            original: OriginalTables::default(),
        }
    }

    /// The key of the data that it uses.
    pub fn data_key(&self, id: &PluginId) -> DataKey {
        self.data.as_deref().map_or_else(|| DataKey::configured(id), DataKey::from_stored)
    }

    /// All versions whose components must be kept.
    pub fn versions(&self) -> impl Iterator<Item = &PluginVersion> {
        [Some(&self.installed), self.staged.as_ref(), self.previous.as_ref()].into_iter().flatten()
    }

    /// The grants as the operator wrote them.
    pub fn grants_table(&self) -> &Table {
        &self.original.grants
    }

    /// The limits as the operator wrote them.
    pub fn limits_table(&self) -> &Table {
        &self.original.limits
    }

    /// On an error nothing changes.
    pub fn set_limits(&mut self, table: Table) -> Result<(), String> {
        let limits: Limits = toml::from_str(&table.to_string()).map_err(|error| error.to_string())?;
        limits.check().map_err(|error| error.to_string())?;
        self.limits = limits;
        self.original.limits = table;
        Ok(())
    }

    pub fn previous_grants_table(&self) -> &Table {
        &self.original.previous_grants
    }

    /// On an error nothing changes.
    pub fn set_grants(&mut self, table: Table) -> Result<(), String> {
        self.grants = toml::from_str(&table.to_string()).map_err(|error| error.to_string())?;
        self.original.grants = table;
        Ok(())
    }

    /// Installs a version. The installed one becomes the previous one, with its grants.
    pub(crate) fn replace_installed(&mut self, new: PluginVersion) {
        self.staged = None;
        self.previous = Some(self.exchange_installed(new));
        self.previous_grants = self.grants.clone();
        self.original.previous_grants = self.original.grants.clone();
    }

    /// Returns the version that was installed, with the reference that it had.
    fn exchange_installed(&mut self, mut new: PluginVersion) -> PluginVersion {
        let reference = new.reference.take().unwrap_or_else(|| self.reference.clone());
        let before = std::mem::replace(&mut self.reference, reference);
        let reference = (before != self.reference).then_some(before);
        PluginVersion { reference, ..std::mem::replace(&mut self.installed, new) }
    }

    /// Installs the previous version with `grants`. The version that it replaces is staged, unless a newer one is. On an
    /// error nothing changes.
    pub(crate) fn roll_back(&mut self, previous: PluginVersion, grants: Table) -> Result<(), String> {
        self.set_grants(grants)?;
        if let Some(staged) = &mut self.staged {
            // A staged version without a reference of its own belongs to the current one, which is about to change.
            staged.reference.get_or_insert_with(|| self.reference.clone());
        }
        let replaced = self.exchange_installed(previous);
        self.staged.get_or_insert(replaced);
        self.previous = None;
        self.previous_grants = Grants::default();
        self.original.previous_grants = Table::new();
        Ok(())
    }

    pub(super) fn to_table(&self) -> Result<Table, toml_edit::ser::Error> {
        let mut table = toml_edit::ser::to_document(self)?.into_table();
        let versions = [
            ("installed", Some(&self.installed)),
            ("staged", self.staged.as_ref()),
            ("previous", self.previous.as_ref()),
        ];
        for (key, version) in versions {
            if let Some(version) = version {
                let mut version = toml_edit::ser::to_document(version)?.into_table();
                // One import per line, so that a diff shows which ones changed.
                if let Some(imports) = version.get_mut("imports").and_then(Item::as_array_mut) {
                    imports.iter_mut().for_each(|import| import.decor_mut().set_prefix("\n    "));
                    imports.set_trailing_comma(true);
                    imports.set_trailing("\n");
                }
                table.insert(key, Item::Table(version));
            }
        }
        let OriginalTables { grants, previous_grants, limits } = &self.original;
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
