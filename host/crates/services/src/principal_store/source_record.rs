//! What is stored about where an item comes from.

use policy::{DataKey, PrivateOrigins};
use runtime::imports::Provenance;
use serde::{Deserialize, Serialize};

/// A [`Provenance`] with all its fields, some of which clients do not see.
#[derive(Serialize, Deserialize)]
pub(super) struct SourceRecord {
    pub(super) plugin: String,
    call: String,
    correlation: Option<String>,
    /// None if an earlier version has written it, which knew plugins by their names alone.
    #[serde(default)]
    data: Option<String>,
    knows: PrivateOrigins,
}

impl From<&Provenance> for SourceRecord {
    fn from(Provenance { plugin, call, correlation_id, data, knows }: &Provenance) -> Self {
        let (plugin, call, correlation) = (plugin.clone(), call.clone(), correlation_id.clone());
        Self { plugin, call, correlation, data: Some(data.to_string()), knows: knows.clone() }
    }
}

impl From<SourceRecord> for Provenance {
    fn from(SourceRecord { plugin, call, correlation, data, knows }: SourceRecord) -> Self {
        let data = data_key(data.as_ref().unwrap_or(&plugin));
        Self { plugin, call, correlation_id: correlation, data, knows }
    }
}

/// Reads the key of a plugin's data. Earlier versions have written the plugin's name on the command line.
pub(super) fn data_key(stored: &str) -> DataKey {
    match stored.contains('.') {
        true => DataKey::from_stored(stored),
        false => DataKey::from_stored(&format!("plugins.{stored}")),
    }
}
