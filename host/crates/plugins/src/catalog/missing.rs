//! Plugins of the configuration that the catalog does not have.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Why the catalog does not have a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It is being loaded.
    Loading,
    /// It cannot be loaded, for this reason.
    Failed(Arc<str>),
}

/// By the plugin's configuration table.
pub type MissingPlugins = BTreeMap<String, Missing>;
