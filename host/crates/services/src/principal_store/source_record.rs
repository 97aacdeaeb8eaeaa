//! What is stored of where an item comes from.

use policy::PrivateOrigins;
use runtime::imports::Provenance;
use serde::{Deserialize, Serialize};

/// A [`Provenance`] with all that it knows, of which clients see nothing.
#[derive(Serialize, Deserialize)]
pub(super) struct SourceRecord {
    pub(super) plugin: String,
    call: String,
    correlation: Option<String>,
    knows: PrivateOrigins,
}

impl From<&Provenance> for SourceRecord {
    fn from(Provenance { plugin, call, correlation_id, knows }: &Provenance) -> Self {
        let (plugin, call, correlation) = (plugin.clone(), call.clone(), correlation_id.clone());
        Self { plugin, call, correlation, knows: knows.clone() }
    }
}

impl From<SourceRecord> for Provenance {
    fn from(SourceRecord { plugin, call, correlation, knows }: SourceRecord) -> Self {
        Self { plugin, call, correlation_id: correlation, knows }
    }
}
