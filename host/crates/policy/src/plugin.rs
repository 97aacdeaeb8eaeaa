//! A plugin as the operator configured it.

use super::{DataKey, Digest, Grants, Limits, PluginId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct PluginSpec {
    pub id: PluginId,
    pub source: PathBuf,
    /// The only bytes that may be in that file; none: whatever is there, which is for one's own plugins.
    pub digest: Option<Digest>,
    /// Of an installed plugin: of everything it said it offers when the operator agreed to it.
    pub definitions: Option<Digest>,
    /// Whose data it finds.
    pub data: DataKey,
    /// Whether its tools are exposed as `<plugin>__<tool>`.
    pub prefix: bool,
    /// Whether what an agent-side tool answers is for its caller and the caller's client only.
    pub private: bool,
    pub grants: Grants,
    /// Tools whose calls are known by an argument: the name of each tool, and that of the argument which is the idempotency key
    /// of its calls.
    pub idempotency: BTreeMap<String, String>,
    /// The ceilings of its calls, which each of them shares.
    pub limits: Arc<Limits>,
}

impl PluginSpec {
    /// Whether `portcullis plugin install` brought it here: the host keeps its file, and the lock file names it.
    pub fn is_installed(&self) -> bool {
        self.definitions.is_some()
    }
}
