//! The export `tools`.

use super::super::guest::Guest;
use super::bindings::exports::portcullis::plugin::tools::GuestIndices;
use super::bindings::portcullis::plugin::types::CallContext;
use super::types::{tool_error_from_guest, tool_from_guest, tool_result_from_guest};
use crate::imports as h;
use wasmtime::Store;
use wasmtime::component::Instance;

pub(super) async fn list_tools(
    export: &GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<Vec<h::Tool>> {
    let tools = export.load(&mut *store, instance)?.call_list_tools(store).await?;
    Ok(tools.into_iter().map(tool_from_guest).collect())
}

pub(super) async fn call_tool(
    export: &GuestIndices,
    store: &mut Store<Guest>,
    instance: &Instance,
    context: &CallContext,
    name: &str,
    arguments: &str,
) -> wasmtime::Result<Result<h::ToolResult, h::ToolError>> {
    let result = export.load(&mut *store, instance)?.call_call_tool(store, context, name, arguments).await?;
    Ok(result.map(tool_result_from_guest).map_err(tool_error_from_guest))
}
