//! `tools/list` and `tools/call`.

use super::dispatch::{CallTarget, PluginRequest, RoundResponse, check_capabilities, dispatch, unexpected_output};
use super::{call_result, steer};
use crate::calls::output::{CallOutcome, CallOutput};
use crate::calls::steering::STEER_CALL;
use crate::listing::page;
use crate::request_context::is_stateless;
use crate::server_context::ServerContext;
use platform::telemetry::printable;
use plugins::calls::CallRequest;
use plugins::catalog::{CatalogEntry, UpstreamTool};
use plugins::offer::PluginTool;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn list(server: &ServerContext, page: Option<PaginatedRequestParams>) -> Result<ListToolsResult, ErrorData> {
    let lists = server.lists();
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
    if server.fallback_tools && request.name == STEER_CALL {
        let arguments = request.arguments.unwrap_or_default();
        return Ok(CallToolResponse::Complete(steer::call_tool(server, &server.principal(&context), arguments)));
    }
    if let Some(upstream) = server.catalog.snapshot().upstream_tool(&request.name) {
        return call_upstream(server, upstream.clone(), request, context).await;
    }
    let Some(exposed) = server.catalog.snapshot().tool(&request.name).cloned() else {
        let text = format!("unknown tool `{}`; tools/list lists the available ones", printable(&request.name));
        return Err(ErrorData::invalid_params(text, None));
    };
    let plugin = exposed.plugin().clone();
    let plugin_request = PluginRequest {
        method: "tools/call",
        name: &request.name,
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        target: CallTarget::Plugin(&plugin),
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    let (running, stateless) = (server.clone(), is_stateless(&context));
    let make_call = move |arguments, call| run(running, exposed, arguments, stateless, call);
    match dispatch(server, plugin_request, &context, make_call).await? {
        RoundResponse::Complete(CallOutput::Tool(result)) => Ok(CallToolResponse::Complete(result)),
        RoundResponse::Complete(_) => unexpected_output(),
        RoundResponse::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
    }
}

async fn call_upstream(
    server: &Arc<ServerContext>,
    upstream: UpstreamTool,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let plugin_request = PluginRequest {
        method: "tools/call",
        name: &request.name,
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        target: CallTarget::Upstream(&upstream),
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    let (running, tool) = (server.clone(), upstream.clone());
    let make_call = move |arguments: Value, call: CallRequest| async move {
        let (meta, text) = (running.call_meta(&call.context), arguments.to_string());
        let finished = running.runner.call_upstream_tool(&tool, &arguments, text, call).await;
        Ok(CallOutput::Tool(call_result::to_tool_result(finished, meta)))
    };
    match dispatch(server, plugin_request, &context, make_call).await? {
        RoundResponse::Complete(CallOutput::Tool(result)) => Ok(CallToolResponse::Complete(result)),
        RoundResponse::Complete(_) => unexpected_output(),
        RoundResponse::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
    }
}

/// The call itself, which may span several requests.
async fn run(
    server: Arc<ServerContext>,
    exposed: CatalogEntry<PluginTool>,
    arguments: Value,
    stateless: bool,
    call: CallRequest,
) -> CallOutcome {
    let meta = server.call_meta(&call.context);
    let text = arguments.to_string();
    let finished = server.runner.call_tool(exposed.plugin(), exposed.tool(), &arguments, text, call).await;
    check_capabilities(stateless, &finished)?;
    Ok(CallOutput::Tool(call_result::to_tool_result(finished, meta)))
}
