//! What a plugin offers, after it was checked.

use super::error::OfferError;
use super::nulls;
use super::resources;
use super::uri_template::UriTemplate;
use policy::{Digest, PluginId};
use runtime::imports::{LazySchema, Offer, Prompt, ResourceInfo, ResourceTemplate, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A tool of a plugin or of a server. Its schemas are compiled when they are first used.
#[derive(Debug)]
pub struct PluginTool {
    pub tool: Tool,
    /// Members of a server's own definition that this host passes on and does not read: icons, `_meta`, titles among the hints.
    pub passed_on: Map<String, Value>,
    /// `tool.name`, which the records of its calls share.
    pub name: Arc<str>,
    /// The name by which plugins call it, or by which it appears in a chain of calls.
    pub full_name: Arc<str>,
    /// None if only the server of the tool checks its arguments.
    input: Option<LazySchema>,
    output: LazySchema,
}

impl PluginTool {
    /// The schemas of `tool` were compiled before, and found to be valid.
    pub fn new(tool: Tool, full_name: String) -> Arc<Self> {
        Arc::new(Self::with_check(tool, full_name, true))
    }

    /// A tool of a server that the operator chose. The server checks arguments itself. `checks` says whether this host checks
    /// them, too, which it can if it can read the input schema.
    pub fn of_server(tool: Tool, full_name: String, passed_on: Map<String, Value>, checks: bool) -> Arc<Self> {
        Arc::new(Self { passed_on, ..Self::with_check(tool, full_name, checks) })
    }

    fn with_check(tool: Tool, full_name: String, checks: bool) -> Self {
        let (passed_on, output) = Default::default();
        let (name, full_name, input) = (tool.name.as_str().into(), full_name.into(), checks.then(LazySchema::default));
        Self { tool, passed_on, name, full_name, input, output }
    }

    /// Checks arguments against the input schema; the error is a sentence that says where and why they do not match.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        self.input.as_ref().map_or(Ok(()), |schema| schema.check(&self.tool.input_schema, arguments))
    }

    /// Checks arguments that are to be passed on. If they do not match, removes members that are null instead of being left
    /// out, and checks again. Returns whether any were removed.
    pub fn accept(&self, arguments: &mut Value) -> Result<bool, String> {
        let Err(reason) = self.check_arguments(arguments) else { return Ok(false) };
        let schema = serde_json::from_str(&self.tool.input_schema).unwrap_or_default();
        if !nulls::leave_out(&schema, arguments) {
            return Err(reason);
        }
        self.check_arguments(arguments).map(|()| true)
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
    /// `offer` is as [`super::check()`] returned it; `definitions` is its digest.
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
