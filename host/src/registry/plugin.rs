//! A loaded plugin: ready to be called, never changed.

use crate::abi::Prepared;
use crate::imports::{Schema, Tool};
use crate::package::{Digest, Inspection};
use crate::policy::{Authority, PluginId, PluginSpec};
use std::sync::Arc;

/// One of a plugin's tools, with its schemas compiled.
#[derive(Debug)]
pub struct PluginTool {
    /// As the plugin describes it.
    pub tool: Tool,
    /// Of the arguments.
    pub input: Schema,
    /// Of the structured result.
    pub output: Option<Schema>,
}

/// A loaded plugin.
pub struct Plugin {
    /// How it was configured.
    pub spec: PluginSpec,
    /// What it is.
    pub digest: Digest,
    /// What it says of itself, imports and exports.
    pub inspection: Inspection,
    /// What it may do.
    pub authority: Arc<Authority>,
    /// What it offers, by name.
    pub tools: Vec<PluginTool>,
    pub(super) prepared: Prepared,
}

impl Plugin {
    /// One of its tools.
    pub fn tool(&self, name: &str) -> Option<&PluginTool> {
        self.tools.binary_search_by(|tool| tool.tool.name.as_str().cmp(name)).ok().and_then(|at| self.tools.get(at))
    }

    /// Side and name.
    pub fn id(&self) -> &PluginId {
        &self.spec.id
    }
}
