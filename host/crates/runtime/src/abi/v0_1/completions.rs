//! The export `completions`.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::completions as w;
use super::bindings::portcullis::plugin::types::CallContext;
use super::types::tool_error_from_guest;
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::Instance;

pub(super) async fn complete(
    export: &w::GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
    query: h::CompletionQuery,
) -> wasmtime::Result<Result<h::Completion, h::ToolError>> {
    let h::CompletionQuery { of, argument, value, context: other_arguments } = query;
    let reference = reference_to_guest(of);
    let completions = export.load(&mut *store, instance)?;
    let completion = completions.call_complete(store, context, &reference, &argument, &value, &other_arguments).await?;
    Ok(completion.map(completion_from_guest).map_err(tool_error_from_guest))
}

fn reference_to_guest(target: h::CompletionTarget) -> w::Reference {
    match target {
        h::CompletionTarget::Prompt(name) => w::Reference::Prompt(name),
        h::CompletionTarget::Template(template) => w::Reference::ResourceTemplate(template),
    }
}

fn completion_from_guest(completion: w::Completion) -> h::Completion {
    h::Completion { values: completion.values, total: completion.total, has_more: completion.has_more }
}
