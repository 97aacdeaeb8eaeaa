//! A plugin as data: what the attribute generates, the component exports and tests call.

#[cfg(target_arch = "wasm32")]
pub(crate) mod exports;

use crate::completion::Typed;
use crate::resource::{Piece, variables};
use crate::{
    Completion, Context, EmbeddedResource, Prompt, PromptResult, ReadError, Reference, ResourceInfo, ResourceTemplate,
    Tool, ToolError, ToolResult,
};

/// What a plugin offers and what it says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    manifest: &'static str,
    tools: &'static [ToolEntry],
    resources: &'static [ResourceEntry],
    templates: &'static [TemplateEntry],
    prompts: &'static [PromptEntry],
}

/// One tool, as generated.
#[derive(Clone, Copy, Debug)]
pub struct ToolEntry {
    /// The tool's name.
    #[doc(hidden)]
    pub name: &'static str,
    #[doc(hidden)]
    pub describe: fn() -> Tool,
    #[doc(hidden)]
    pub call: fn(&Context, &str) -> Result<ToolResult, ToolError>,
}

/// One resource, as generated.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ResourceEntry {
    pub uri: &'static str,
    pub describe: fn() -> ResourceInfo,
    pub read: fn(&Context, &str) -> Result<Vec<EmbeddedResource>, ReadError>,
}

/// One resource template, as generated.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TemplateEntry {
    pub uri_template: &'static str,
    pub pieces: &'static [Piece],
    pub describe: fn() -> ResourceTemplate,
    pub read: ReadTemplate,
    pub completers: &'static [Completer],
}

/// One prompt, as generated.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct PromptEntry {
    pub name: &'static str,
    pub describe: fn() -> Prompt,
    pub get: GetPrompt,
    pub completers: &'static [Completer],
}

/// Takes the variables in the order of the template.
type ReadTemplate = fn(&Context, &str, Vec<String>) -> Result<Vec<EmbeddedResource>, ReadError>;

/// Takes names and values of the arguments.
type GetPrompt = fn(&Context, &[(String, String)]) -> Result<PromptResult, ToolError>;

/// An argument's name, and what suggests values for it.
pub(crate) type Completer = (&'static str, fn(&Typed<'_>) -> Result<Completion, ToolError>);

impl Plugin {
    #[doc(hidden)]
    pub const fn new(
        manifest: &'static str,
        tools: &'static [ToolEntry],
        resources: &'static [ResourceEntry],
        templates: &'static [TemplateEntry],
        prompts: &'static [PromptEntry],
    ) -> Self {
        Self { manifest, tools, resources, templates, prompts }
    }

    /// The manifest as JSON, as it is stamped into the component.
    pub fn manifest(&self) -> &'static str {
        self.manifest
    }

    /// Descriptions of all tools.
    pub fn list_tools(&self) -> Vec<Tool> {
        self.tools.iter().map(|entry| (entry.describe)()).collect()
    }

    /// Runs a tool with arguments as JSON text.
    ///
    /// # Errors
    /// What the tool returned as an error, arguments that do not fit its parameters, or an unknown name.
    pub fn call_tool(&self, ctx: &Context, name: &str, arguments: &str) -> Result<ToolResult, ToolError> {
        match self.tools.iter().find(|entry| entry.name == name) {
            Some(entry) => (entry.call)(ctx, arguments),
            None => Err(ToolError::Unsupported(format!("this plugin has no tool named `{name}`"))),
        }
    }

    /// Descriptions of all resources that have a URI of their own.
    pub fn list_resources(&self) -> Vec<ResourceInfo> {
        self.resources.iter().map(|entry| (entry.describe)()).collect()
    }

    /// Descriptions of all resource templates.
    pub fn list_templates(&self) -> Vec<ResourceTemplate> {
        self.templates.iter().map(|entry| (entry.describe)()).collect()
    }

    /// Reads a resource: the one with this URI, or else that of the first template that matches it.
    ///
    /// # Errors
    /// [`ReadError::NotFound`] when there is none, or why it cannot be read.
    pub fn read_resource(&self, ctx: &Context, uri: &str) -> Result<Vec<EmbeddedResource>, ReadError> {
        if let Some(entry) = self.resources.iter().find(|entry| entry.uri == uri) {
            return (entry.read)(ctx, uri);
        }
        let matching = |entry: &TemplateEntry| Some((entry.read, variables(entry.pieces, uri)?));
        let (read, variables) = self.templates.iter().find_map(matching).ok_or(ReadError::NotFound)?;
        read(ctx, uri, variables)
    }

    /// Descriptions of all prompts.
    pub fn list_prompts(&self) -> Vec<Prompt> {
        self.prompts.iter().map(|entry| (entry.describe)()).collect()
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// What the prompt returned as an error, an argument that is missing, or an unknown name.
    pub fn get_prompt(
        &self,
        ctx: &Context,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<PromptResult, ToolError> {
        match self.prompts.iter().find(|entry| entry.name == name) {
            Some(entry) => (entry.get)(ctx, arguments),
            None => Err(ToolError::Unsupported(format!("this plugin has no prompt named `{name}`"))),
        }
    }

    /// Suggests values for an argument. An argument for which nothing suggests values has none.
    ///
    /// # Errors
    /// What the suggesting function returned as an error, or an unknown prompt or template.
    pub fn complete(&self, reference: &Reference, argument: &str, typed: &Typed<'_>) -> Result<Completion, ToolError> {
        let (kind, name, found) = match reference {
            Reference::Prompt(name) => {
                ("prompt", name, self.prompts.iter().find(|entry| entry.name == name).map(|entry| entry.completers))
            }
            Reference::ResourceTemplate(template) => {
                let found = self.templates.iter().find(|entry| entry.uri_template == template);
                ("resource template", template, found.map(|entry| entry.completers))
            }
        };
        let completers = found.ok_or_else(|| ToolError::invalid(format_args!("this plugin has no {kind} `{name}`")))?;
        match completers.iter().find(|(known, _)| *known == argument) {
            Some((_, suggest)) => suggest(typed),
            None => Ok(Completion { values: Vec::new(), total: Some(0), has_more: false }),
        }
    }
}
