//! The lists of the protocol, built from the catalog once for each catalog.

use super::{fallback_tools, instructions, published};
use plugins::catalog::{Catalog, UpstreamItem, UpstreamTool};
use plugins::offer::PluginTool;
use protocol::content::{to_annotations, to_icons};
use protocol::names::SOURCE_META;
use rmcp::model::{JsonObject, MetaObject, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolAnnotations};
use runtime::imports::{Execution, Prompt as OurPrompt, ResourceInfo, ResourceTemplate as OurTemplate, to_portable};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// Keeps Claude from hiding a tool behind its own search. Set for the tools of code mode, which are such a search themselves.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// Each list is sorted by its key.
pub(crate) struct CatalogLists {
    /// The catalog from which the lists were built.
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) tools: Vec<Tool>,
    /// The tools with arguments that are repeated in headers, by name.
    header_tools: HashSet<Cow<'static, str>>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// The text that tells models what the server is.
    pub(crate) instructions: String,
}

impl CatalogLists {
    /// `fallback_tools` adds the host's own tools, which do the same as requests of our own extensions.
    pub(crate) fn new(catalog: Arc<Catalog>, fallback_tools: bool) -> Self {
        let is_code_mode = catalog.only().is_some();
        let mut tools: Vec<Tool> = catalog
            .tools()
            .map(|(name, exposed)| {
                let mut tool = tool(name, exposed.tool(), &exposed.plugin().id().name, fallback_tools);
                tool.meta = is_code_mode.then(|| MetaObject(Map::from_iter([(ALWAYS_LOAD.to_owned(), true.into())])));
                tool
            })
            .collect();
        tools.extend(catalog.upstream_tools().map(|(name, upstream)| upstream_tool(name, upstream)));
        if fallback_tools {
            tools.extend(fallback_tools::tools());
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let header_tools =
            tools.iter().filter(|tool| has_header(&tool.input_schema)).map(|tool| tool.name.clone()).collect();
        Self {
            tools,
            header_tools,
            resources: resources(&catalog),
            templates: templates(&catalog, fallback_tools),
            prompts: prompts(&catalog),
            instructions: instructions::text(&catalog),
            catalog,
        }
    }

    /// Whether arguments of a tool are repeated in `Mcp-Param-*` headers.
    pub(crate) fn reads_headers(&self, name: &str) -> bool {
        self.header_tools.contains(name)
    }

    /// Finds a tool by its exposed name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        self.tools.get(at)
    }
}

/// Whether a schema names a header anywhere in it.
fn has_header(schema: &JsonObject) -> bool {
    let of_value = |value: &Value| match value {
        Value::Object(fields) => has_header(fields),
        Value::Array(items) => items.iter().filter_map(Value::as_object).any(has_header),
        _ => false,
    };
    schema.iter().any(|(key, value)| key == "x-mcp-header" || of_value(value))
}

/// `whose` is the name of the tool's plugin or server. The title begins with it, because some agents show nothing else when
/// they ask whether a tool may be called.
fn tool(name: &str, plugin_tool: &PluginTool, whose: &str, fallback_tools: bool) -> Tool {
    let described = &plugin_tool.tool;
    let mut tool = Tool::new(name.to_owned(), described.description.clone(), parse_schema(&described.input_schema));
    tool.title = described.title.as_ref().map(|title| format!("{whose}: {title}"));
    // A client refuses a result that does not have what the schema promises, such as one that says that the call goes on as a
    // task.
    let may_be_task = fallback_tools && described.execution != Execution::Inline;
    tool.output_schema = described.output_schema.as_deref().filter(|_| !may_be_task).map(parse_schema);
    let hints = &described.annotations;
    let known = [hints.read_only, hints.destructive, hints.idempotent, hints.open_world];
    tool.annotations = known.iter().any(Option::is_some).then(|| {
        ToolAnnotations::from_raw(None, hints.read_only, hints.destructive, hints.idempotent, hints.open_world)
    });
    tool.icons = to_icons(&described.icons);
    tool
}

/// Parses a schema that was checked, so it is an object. Clients get it in a form that all of them understand.
fn parse_schema(text: &str) -> Arc<JsonObject> {
    Arc::new(to_portable(serde_json::from_str(text).unwrap_or_default()))
}

/// Adds the name of the upstream server, which wrote the description.
fn upstream_tool(name: &str, upstream: &UpstreamTool) -> Tool {
    let whose = &upstream.id.name;
    let mut tool = tool(name, &upstream.tool, whose, false);
    let given = &upstream.tool.passed_on;
    tool.icons = given.get("icons").and_then(|icons| serde_json::from_value(icons.clone()).ok());
    if let Some(title) = given.get("annotations").and_then(|hints| hints["title"].as_str()) {
        tool.annotations.get_or_insert_with(ToolAnnotations::default).title = Some(format!("{whose}: {title}"));
    }
    let mut meta = given.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let source = json!({ "upstream": upstream.id.name, "tool": upstream.tool.tool.name });
    meta.insert(SOURCE_META.to_owned(), source);
    tool.meta = Some(MetaObject(meta));
    tool
}

/// An entry of a server's list, under the address or name that clients know. `member` is the field that has this.
fn upstream_item<T: DeserializeOwned>((address, found): (&str, &UpstreamItem), member: &str) -> Option<T> {
    let mut shown = found.item.members.clone();
    shown.insert(member.to_owned(), address.into());
    let source = json!({ "upstream": found.server.id.name, member: found.item.key });
    let meta = shown.entry("_meta").or_insert_with(|| json!({}));
    meta[SOURCE_META] = source;
    // This cannot fail, because the members were checked.
    serde_json::from_value(Value::Object(shown)).ok()
}

fn resources(catalog: &Catalog) -> Vec<Resource> {
    let own = catalog.resources().map(|(_, exposed)| resource(exposed.item()));
    let mut resources: Vec<_> =
        own.chain(catalog.upstream_resources().filter_map(|found| upstream_item(found, "uri"))).collect();
    resources.sort_by(|a, b| a.uri.cmp(&b.uri));
    resources
}

fn prompts(catalog: &Catalog) -> Vec<Prompt> {
    let own = catalog.prompts().map(|(name, exposed)| prompt(name, exposed.item()));
    let mut prompts: Vec<Prompt> =
        own.chain(catalog.upstream_prompts().filter_map(|found| upstream_item(found, "name"))).collect();
    prompts.sort_by(|a, b| a.name.cmp(&b.name));
    prompts
}

fn resource(described: &ResourceInfo) -> Resource {
    let mut resource = Resource::new(described.uri.clone(), described.name.clone());
    resource.title = described.title.clone();
    resource.description = described.description.clone();
    resource.mime_type = described.mime_type.clone();
    resource.size = described.size;
    resource.annotations = described.annotations.clone().map(to_annotations);
    resource.icons = to_icons(&described.icons);
    resource
}

fn templates(catalog: &Catalog, fallback_tools: bool) -> Vec<ResourceTemplate> {
    let offered = catalog.templates().map(|(_, exposed)| template(&exposed.item().template));
    let others = catalog.upstream_templates().filter_map(|found| upstream_item(found, "uriTemplate"));
    let mut templates: Vec<_> = offered.chain(published::to_templates(fallback_tools)).chain(others).collect();
    templates.sort_by(|a, b| a.uri_template.cmp(&b.uri_template));
    templates
}

/// Leaves out annotations, because rmcp's type has no field for them.
fn template(described: &OurTemplate) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(described.uri_template.clone(), described.name.clone());
    template.title = described.title.clone();
    template.description = described.description.clone();
    template.mime_type = described.mime_type.clone();
    template.icons = to_icons(&described.icons);
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
    prompt.icons = to_icons(&described.icons);
    prompt
}
