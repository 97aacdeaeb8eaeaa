//! A loaded plugin: ready to be called, never changed.

use super::gate::Traffic;
use super::offer::Suspicion;
use super::template::UriTemplate;
use crate::package::{Digest, Inspection};
use platform::telemetry::Meter;
use policy::{Authority, PluginId, PluginSpec};
use runtime::abi::Prepared;
use runtime::imports::{Prompt, ResourceInfo, ResourceTemplate, Room, Schema, Tool};
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

/// One of a plugin's resource templates, taken apart.
#[derive(Debug)]
pub struct PluginTemplate {
    /// As the plugin describes it.
    pub template: ResourceTemplate,
    /// Which URIs match it.
    pub pattern: UriTemplate,
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
    /// The tools it offers, by name.
    pub tools: Vec<PluginTool>,
    /// The resources it offers, by URI.
    pub resources: Vec<ResourceInfo>,
    /// Its resource templates, by template.
    pub templates: Vec<PluginTemplate>,
    /// The prompts it offers, by name.
    pub prompts: Vec<Prompt>,
    /// Whether it suggests values for arguments.
    pub completes: bool,
    /// Of all that: a version that says the same of itself has the same.
    pub definitions: Digest,
    /// Its counters.
    pub meter: Arc<Meter>,
    /// What in its words may be meant for a model and not for a reader.
    pub suspicions: Vec<Suspicion>,
    pub(super) prepared: Prepared,
    pub(super) traffic: Traffic,
    /// Of a directory of its own. A version that takes this one's place has another, while calls of both may run; what
    /// they write is then seen when the next call begins.
    pub(super) room: Option<Arc<Room>>,
}

impl Plugin {
    /// One of its tools.
    pub fn tool(&self, name: &str) -> Option<&PluginTool> {
        self.tools.binary_search_by(|tool| tool.tool.name.as_str().cmp(name)).ok().and_then(|at| self.tools.get(at))
    }

    /// Whether a URI is one of its resources, or matches one of its templates.
    pub fn has_resource(&self, uri: &str) -> bool {
        self.resources.binary_search_by(|resource| resource.uri.as_str().cmp(uri)).is_ok()
            || self.templates.iter().any(|template| template.pattern.matches(uri))
    }

    /// Side and name.
    pub fn id(&self) -> &PluginId {
        &self.spec.id
    }
}
