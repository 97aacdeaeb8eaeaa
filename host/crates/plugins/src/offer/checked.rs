//! What a plugin offers, after it was checked.

use super::suspicion::Suspicion;
use super::uri_template::UriTemplate;
use policy::Digest;
use runtime::imports::{Prompt, ResourceInfo, ResourceTemplate, Schema, Tool};
use std::sync::Arc;

/// One of a plugin's tools, with its schemas compiled.
#[derive(Debug)]
pub struct PluginTool {
    pub tool: Tool,
    /// `tool.name`, which the records of its calls share.
    pub name: Arc<str>,
    /// Schema of the arguments.
    pub input: Schema,
    /// Schema of the structured result.
    pub output: Option<Schema>,
}

impl PluginTool {
    pub fn new(tool: Tool, input: Schema, output: Option<Schema>) -> Arc<Self> {
        Arc::new(Self { name: tool.name.as_str().into(), tool, input, output })
    }
}

/// One of a plugin's resource templates, parsed.
#[derive(Debug)]
pub struct PluginTemplate {
    pub template: ResourceTemplate,
    pub pattern: UriTemplate,
}

/// A checked offer. Each list is sorted, so that its order does not depend on the guest.
#[derive(Debug)]
pub(crate) struct CheckedOffer {
    pub(crate) tools: Vec<Arc<PluginTool>>,
    pub(crate) resources: Vec<ResourceInfo>,
    pub(crate) templates: Vec<PluginTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) completes: bool,
    pub(crate) definitions: Digest,
    pub(crate) suspicions: Vec<Suspicion>,
}
