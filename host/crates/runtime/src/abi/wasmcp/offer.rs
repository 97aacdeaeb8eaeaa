//! What a component lists: tools, resources, templates and prompts.

use super::super::guest::Guest;
use super::super::values::{RecordFields, boolean, enumerated, float, list, text, unsigned};
use super::exports::WasmcpExports;
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::{Instance, Val};

type Result<T> = wasmtime::Result<T>;

impl WasmcpExports {
    pub(in super::super) async fn describe(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<h::Offer> {
        let mut offer = h::Offer { completes: self.complete.is_some(), ..h::Offer::default() };
        if let Some(function) = &self.list_tools {
            offer.tools = function.list(store, instance, self.version, "tools", tool).await?;
        }
        if let Some(function) = &self.list_resources {
            offer.resources = function.list(store, instance, self.version, "resources", resource).await?;
        }
        if let Some(function) = &self.list_templates {
            offer.templates = function.list(store, instance, self.version, "resource-templates", template).await?;
        }
        if let Some(function) = &self.list_prompts {
            offer.prompts = function.list(store, instance, self.version, "prompts", prompt).await?;
        }
        Ok(offer)
    }
}

fn tool(value: Val) -> Result<h::Tool> {
    let mut tool = RecordFields::read(value)?;
    let mut options = tool.options("options")?;
    let mut hints = options.options("annotations")?;
    let name = tool.take("name", text)?;
    let hinted = hints.option("title", text)?;
    let title = options.option("title", text)?.or(hinted);
    let description = options.option("description", text)?;
    Ok(h::Tool {
        description: description.unwrap_or_else(|| title.clone().unwrap_or_else(|| format!("The tool `{name}`."))),
        name,
        title,
        input_schema: tool.take("input-schema", text)?,
        output_schema: options.option("output-schema", text)?,
        annotations: h::ToolAnnotations {
            read_only: hints.option("read-only-hint", boolean)?,
            destructive: hints.option("destructive-hint", boolean)?,
            idempotent: hints.option("idempotent-hint", boolean)?,
            open_world: hints.option("open-world-hint", boolean)?,
        },
        execution: h::Execution::Inline,
        icons: icons(&mut options)?,
    })
}

fn resource(value: Val) -> Result<h::ResourceInfo> {
    let mut resource = RecordFields::read(value)?;
    let mut options = resource.options("options")?;
    Ok(h::ResourceInfo {
        uri: resource.take("uri", text)?,
        name: resource.take("name", text)?,
        title: options.option("title", text)?,
        description: options.option("description", text)?,
        mime_type: options.option("mime-type", text)?,
        size: options.option("size", unsigned)?,
        annotations: options.option("annotations", annotations)?,
        icons: icons(&mut options)?,
    })
}

fn template(value: Val) -> Result<h::ResourceTemplate> {
    let mut template = RecordFields::read(value)?;
    let mut options = template.options("options")?;
    Ok(h::ResourceTemplate {
        uri_template: template.take("uri-template", text)?,
        name: template.take("name", text)?,
        title: options.option("title", text)?,
        description: options.option("description", text)?,
        mime_type: options.option("mime-type", text)?,
        annotations: options.option("annotations", annotations)?,
        icons: icons(&mut options)?,
    })
}

fn prompt(value: Val) -> Result<h::Prompt> {
    let argument = |value: Val| {
        let mut argument = RecordFields::read(value)?;
        Ok(h::PromptArgument {
            name: argument.take("name", text)?,
            title: argument.option("title", text)?,
            description: argument.option("description", text)?,
            required: argument.option("required", boolean)?.unwrap_or(false),
        })
    };
    let mut prompt = RecordFields::read(value)?;
    let mut options = prompt.options("options")?;
    Ok(h::Prompt {
        name: prompt.take("name", text)?,
        title: options.option("title", text)?,
        description: options.option("description", text)?,
        arguments: options.option("arguments", |value| list(value, argument))?.unwrap_or_default(),
        icons: icons(&mut options)?,
    })
}

fn icons(options: &mut RecordFields) -> Result<Vec<h::Icon>> {
    let icon = |value: Val| {
        let mut icon = RecordFields::read(value)?;
        Ok(h::Icon {
            src: icon.take("src", text)?,
            mime_type: icon.option("mime-type", text)?,
            sizes: icon.option("sizes", |value| list(value, text))?.unwrap_or_default(),
        })
    };
    Ok(options.option("icons", |value| list(value, icon))?.unwrap_or_default())
}

pub(super) fn annotations(value: Val) -> Result<h::Annotations> {
    let mut annotations = RecordFields::read(value)?;
    let audience = annotations.option("audience", |value| list(value, role))?.unwrap_or_default();
    Ok(h::Annotations {
        // Each once: a list of a million roles would take memory that no limit counts.
        audience: [h::Role::User, h::Role::Assistant].into_iter().filter(|role| audience.contains(role)).collect(),
        priority: annotations.option("priority", float)?,
        last_modified: annotations.option("last-modified", text)?,
    })
}

pub(super) fn role(value: Val) -> Result<h::Role> {
    Ok(match enumerated(value)?.as_str() {
        "assistant" => h::Role::Assistant,
        _ => h::Role::User,
    })
}
