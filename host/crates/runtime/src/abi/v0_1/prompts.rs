//! The export `prompts`.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::prompts as w;
use super::bindings::portcullis::plugin::types::CallContext;
use super::types::{content_from_guest, icon_from_guest, role_from_guest, tool_error_from_guest};
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::Instance;

pub(super) async fn list_prompts(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<Vec<h::Prompt>> {
    let prompts = export.load(&mut *store, instance)?.call_list_prompts(store).await?;
    Ok(prompts.into_iter().map(prompt_from_guest).collect())
}

pub(super) async fn get_prompt(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
    name: &str,
    arguments: &[(String, String)],
) -> wasmtime::Result<Result<h::PromptResult, h::ToolError>> {
    let result = export.load(&mut *store, instance)?.call_get_prompt(store, context, name, arguments).await?;
    Ok(result.map(prompt_result_from_guest).map_err(tool_error_from_guest))
}

fn prompt_from_guest(prompt: w::Prompt) -> h::Prompt {
    let argument = |argument: w::PromptArgument| h::PromptArgument {
        name: argument.name,
        title: argument.title,
        description: argument.description,
        required: argument.required,
    };
    h::Prompt {
        name: prompt.name,
        title: prompt.title,
        description: prompt.description,
        arguments: prompt.arguments.into_iter().map(argument).collect(),
        icons: prompt.icons.into_iter().map(icon_from_guest).collect(),
    }
}

fn prompt_result_from_guest(result: w::PromptResult) -> h::PromptResult {
    let message = |message: w::PromptMessage| h::PromptMessage {
        role: role_from_guest(message.role),
        content: content_from_guest(message.content),
    };
    h::PromptResult { description: result.description, messages: result.messages.into_iter().map(message).collect() }
}
