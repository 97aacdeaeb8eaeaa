//! `tools/list` and `tools/call`.

use super::call_result::{CallResult, unexpected_result};
use super::dispatch::{TargetRequest, dispatch};
use super::round_response::RoundResponse;
use super::{fallback_tools, loading};
use crate::listing::page;
use crate::request_context;
use crate::server_context::ServerContext;
use crate::subscriptions::updates::ListReading;
use platform::telemetry::printable;
use plugins::calls::{CallTarget, PluginCall};
use plugins::catalog::Catalog;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, JsonObject, ListToolsResult, PaginatedRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;

pub(crate) async fn list(
    server: &ServerContext,
    page: Option<PaginatedRequestParams>,
    reading: &ListReading<'_>,
) -> Result<ListToolsResult, ErrorData> {
    let lists = server.complete_lists().await;
    reading.note(lists.catalog.number(), page.as_ref());
    let page = page::paginate("tools", &lists.tools, |tool| &tool.name, page)?;
    // All clients see the same list, so shared caches may keep it.
    let mut result = ListToolsResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    result.cache_scope = Some(CacheScope::Public);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(crate) async fn call(
    server: &Arc<ServerContext>,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    if server.is_fallback_tool(&request.name) {
        let principal = server.principal(&context);
        let called = fallback_tools::call(server, &principal, &request.name, arguments);
        return Ok(CallToolResponse::Complete(called.await));
    }
    wait_for_tool(server, &request.name, &context).await?;
    let request = TargetRequest {
        method: "tools/call",
        name: &request.name,
        target: find(server, &request.name, arguments)?,
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    match dispatch(server, request, &context).await? {
        RoundResponse::Complete(CallResult::Tool(result)) => Ok(CallToolResponse::Complete(result)),
        RoundResponse::Complete(_) => unexpected_result(),
        RoundResponse::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
        RoundResponse::Task(task) => Ok(CallToolResponse::Task(task)),
    }
}

/// Waits for a tool while plugins that may have it are being loaded.
async fn wait_for_tool(
    server: &ServerContext,
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let has_tool = |catalog: &Catalog| catalog.tool(name).is_some() || catalog.upstream_tool(name).is_some();
    if !loading::wait_until(server, has_tool, context).await {
        return Ok(());
    }
    // When the HTTP transport read the request, the tool was not there, so the transport could not compare headers with
    // arguments.
    match request_context::is_http(&context.extensions) && server.lists().reads_headers(name) {
        true => Err(ErrorData::internal_error("the plugin of this tool was just loaded; send the request again", None)),
        false => Ok(()),
    }
}

/// The tool of a plugin or of an upstream server.
pub(super) fn find(server: &ServerContext, name: &str, arguments: JsonObject) -> Result<CallTarget, ErrorData> {
    let catalog = server.catalog.snapshot();
    if let Some(tool) = catalog.upstream_tool(name) {
        return Ok(CallTarget::Upstream(tool.clone(), arguments.into()));
    }
    let Some(entry) = catalog.tool(name) else {
        let text = match catalog.missing_upstream(name) {
            Some((server, reason)) => format!(
                "the server `{server}` is not connected at the moment ({reason}), so its tools are not known; try again"
            ),
            None => format!("unknown tool `{}`; tools/list lists the available ones", printable(name)),
        };
        return Err(ErrorData::invalid_params(text, None));
    };
    Ok(CallTarget::Plugin(entry.plugin().clone(), PluginCall::Tool(entry.tool().clone(), arguments.into())))
}
