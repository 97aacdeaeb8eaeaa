//! A plugin as the operator configured it.

use super::{DataKey, Digest, Grants, Limits, PluginId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct PluginSpec {
    pub id: PluginId,
    pub source: PathBuf,
    /// The file must have this digest. None accepts any content, which is for plugins that one develops oneself.
    pub digest: Option<Digest>,
    /// For an installed plugin: the digest of everything that it declared to offer when the operator agreed to it.
    pub definitions: Option<Digest>,
    /// The key of the data that it reads and writes.
    pub data: DataKey,
    /// Whether its tools are exposed as `<plugin>__<tool>`.
    pub prefix: bool,
    /// Whether the answers of an agent-side tool are only for its caller and the caller's client.
    pub private: bool,
    pub grants: Grants,
    /// Tools whose calls are identified by an argument: maps the name of each tool to the name of the argument that holds the
    /// idempotency key.
    pub idempotency: BTreeMap<String, String>,
    /// The limits of its calls. All calls share this one copy.
    pub limits: Arc<Limits>,
}

impl PluginSpec {
    /// Whether `portcullis plugin install` installed it: then the host keeps its file, and the lock file names it.
    pub fn is_installed(&self) -> bool {
        self.definitions.is_some()
    }
}
