//! The catalog in the protocol's words: made once per catalog, sent in pages.

use super::content::{annotations, icons};
use super::{SOURCE, published, steer};
use plugins::registry::{Beyond, Catalog, PluginTool};
use rmcp::model::{JsonObject, MetaObject, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolAnnotations};
use runtime::imports::{Prompt as OurPrompt, ResourceInfo, ResourceTemplate as OurTemplate};
use serde_json::json;
use std::sync::Arc;

/// All lists, each in the order of its keys.
pub(super) struct Lists {
    /// What they were made of.
    pub(super) catalog: Arc<Catalog>,
    pub(super) tools: Vec<Tool>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
    pub(super) prompts: Vec<Prompt>,
}

impl Lists {
    /// Of this catalog, with tools that stand in for requests of our own or without.
    pub(super) fn of(catalog: Arc<Catalog>, fallback: bool) -> Self {
        let mut tools: Vec<Tool> = catalog.iter().map(|(name, exposed)| tool(name, exposed.tool())).collect();
        tools.extend(catalog.all_beyond().map(|(name, beyond)| from_beyond(name, beyond)));
        if fallback {
            tools.push(steer::tool());
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            tools,
            resources: catalog.resources().map(|(_, exposed)| resource(exposed.item())).collect(),
            templates: templates(&catalog),
            prompts: catalog.prompts().map(|(name, exposed)| prompt(name, exposed.item())).collect(),
            catalog,
        }
    }

    /// A tool by exposed name.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        self.tools.get(at)
    }
}

fn tool(name: &str, plugin_tool: &PluginTool) -> Tool {
    let described = &plugin_tool.tool;
    let schema = Arc::new(plugin_tool.input.document().clone());
    let mut tool = Tool::new(name.to_owned(), described.description.clone(), schema);
    tool.title = described.title.clone();
    tool.output_schema = plugin_tool.output.as_ref().map(|schema| Arc::new(schema.document().clone()));
    let hints = &described.annotations;
    let known = [hints.read_only, hints.destructive, hints.idempotent, hints.open_world];
    tool.annotations = known.iter().any(Option::is_some).then(|| {
        ToolAnnotations::from_raw(None, hints.read_only, hints.destructive, hints.idempotent, hints.open_world)
    });
    tool.icons = icons(&described.icons);
    tool
}

/// With the server that it comes from, since it is that server which words it.
fn from_beyond(name: &str, beyond: &Beyond) -> Tool {
    let mut tool = tool(name, &beyond.tool);
    let source = json!({ "upstream": beyond.id.name, "tool": beyond.tool.tool.name });
    tool.meta = Some(MetaObject(JsonObject::from_iter([(SOURCE.to_owned(), source)])));
    tool
}

fn resource(described: &ResourceInfo) -> Resource {
    let mut resource = Resource::new(described.uri.clone(), described.name.clone());
    resource.title = described.title.clone();
    resource.description = described.description.clone();
    resource.mime_type = described.mime_type.clone();
    resource.size = described.size;
    resource.annotations = described.annotations.clone().map(annotations);
    resource.icons = icons(&described.icons);
    resource
}

fn templates(catalog: &Catalog) -> Vec<ResourceTemplate> {
    let offered = catalog.templates().map(|(_, exposed)| template(&exposed.item().template));
    let mut templates: Vec<_> = offered.chain(published::templates()).collect();
    templates.sort_by(|a, b| a.uri_template.cmp(&b.uri_template));
    templates
}

/// Without annotations, for which rmcp's type has no place.
fn template(described: &OurTemplate) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(described.uri_template.clone(), described.name.clone());
    template.title = described.title.clone();
    template.description = described.description.clone();
    template.mime_type = described.mime_type.clone();
    template.icons = icons(&described.icons);
    template
}

fn prompt(name: &str, described: &OurPrompt) -> Prompt {
    let arguments = described.arguments.iter().map(|argument| {
        let mut shown = PromptArgument::new(argument.name.clone()).with_required(argument.required);
        shown.title = argument.title.clone();
        shown.description = argument.description.clone();
        shown
    });
    let mut prompt = Prompt::new(name, described.description.clone(), Some(arguments.collect()));
    prompt.title = described.title.clone();
    prompt.icons = icons(&described.icons);
    prompt
}
