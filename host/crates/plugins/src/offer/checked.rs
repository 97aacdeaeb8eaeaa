//! What a plugin offers, after it was checked.

use super::error::OfferError;
use super::resources;
use super::uri_template::UriTemplate;
use policy::{Digest, PluginId};
use runtime::imports::{LazySchema, Offer, Prompt, ResourceInfo, ResourceTemplate, Tool};
use serde_json::Value;
use std::sync::Arc;

/// One of a plugin's tools. Its schemas are compiled when they are first used.
#[derive(Debug)]
pub struct PluginTool {
    pub tool: Tool,
    /// `tool.name`, which the records of its calls share.
    pub name: Arc<str>,
    /// The name by which plugins call it, or that a chain of calls has for it.
    pub full_name: Arc<str>,
    input: LazySchema,
    output: LazySchema,
}

impl PluginTool {
    /// The schemas of `tool` were compiled before, and found to be valid.
    pub fn new(tool: Tool, full_name: String) -> Arc<Self> {
        let (input, output) = (LazySchema::default(), LazySchema::default());
        Arc::new(Self { name: tool.name.as_str().into(), full_name: full_name.into(), tool, input, output })
    }

    /// Checks arguments against the input schema; the error is a sentence that says where and why they do not match.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        self.input.check(&self.tool.input_schema, arguments)
    }

    /// Checks a structured result against the output schema, if there is one.
    pub fn check_result(&self, result: &Value) -> Result<(), String> {
        self.tool.output_schema.as_ref().map_or(Ok(()), |schema| self.output.check(schema, result))
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
}

impl CheckedOffer {
    /// `offer` is as [`check`](super::check) returned it; `definitions` is its digest.
    pub(crate) fn new(plugin: &PluginId, offer: Offer, definitions: Digest) -> Result<Self, OfferError> {
        let Offer { tools, resources, templates, prompts, completes } = offer;
        let tool = |tool: Tool| {
            let full_name = plugin.full_name(&tool.name);
            PluginTool::new(tool, full_name)
        };
        let tools = tools.into_iter().map(tool).collect();
        let parse = |template| Ok(PluginTemplate { pattern: resources::parse(&template)?, template });
        let templates = templates.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { tools, resources, templates, prompts, completes, definitions })
    }
}
