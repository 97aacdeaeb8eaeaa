//! What a component lists: tools, resources and prompts.

use super::super::guest::Guest;
use super::super::values::{RecordFields, boolean, list, text};
use super::content::annotations;
use super::exports::WasixExports;
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::{Instance, Val};

type Result<T> = wasmtime::Result<T>;

impl WasixExports {
    pub(in super::super) async fn describe(&self, store: &mut Store<Guest>, instance: &Instance) -> Result<h::Offer> {
        Ok(h::Offer {
            tools: list(self.list_tools.call(store, instance, &[]).await?, tool)?,
            resources: list(self.list_resources.call(store, instance, &[]).await?, resource)?,
            prompts: list(self.list_prompts.call(store, instance, &[]).await?, prompt)?,
            ..h::Offer::default()
        })
    }
}

fn tool(value: Val) -> Result<h::Tool> {
    let mut tool = RecordFields::read(value)?;
    let mut hints = tool.options("annotations")?;
    Ok(h::Tool {
        name: tool.take("name", text)?,
        title: tool.option("title", text)?,
        description: tool.take("description", text)?,
        input_schema: tool.take("input-schema", text)?,
        output_schema: tool.option("output-schema", text)?,
        annotations: h::ToolAnnotations {
            read_only: hints.option("read-only", boolean)?,
            destructive: hints.option("destructive", boolean)?,
            ..h::ToolAnnotations::default()
        },
        execution: h::Execution::Inline,
        icons: vec![],
    })
}

fn resource(value: Val) -> Result<h::ResourceInfo> {
    let mut resource = RecordFields::read(value)?;
    Ok(h::ResourceInfo {
        uri: resource.take("uri", text)?,
        name: resource.take("name", text)?,
        title: resource.option("title", text)?,
        description: resource.option("description", text)?,
        mime_type: Some(resource.take("mime-type", text)?).filter(|text| !text.is_empty()),
        size: None,
        annotations: resource.option("annotations", annotations)?,
        icons: vec![],
    })
}

/// Its arguments are left out: the dialect has no way to give them to the component.
fn prompt(value: Val) -> Result<h::Prompt> {
    let mut prompt = RecordFields::read(value)?;
    Ok(h::Prompt {
        name: prompt.take("name", text)?,
        title: None,
        description: prompt.option("description", text)?,
        arguments: vec![],
        icons: vec![],
    })
}
