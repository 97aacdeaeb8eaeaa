//! `tools/list` and `tools/call`.

use super::respond::{self, Request, Response};
use super::round::{Outcome, Output, is_stateless};
use super::server::Shared;
use super::{page, result, steer};
use platform::telemetry::printable;
use plugins::registry::{Beyond, CallRequest, Exposed, PluginTool};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn list(server: &Shared, page: Option<PaginatedRequestParams>) -> Result<ListToolsResult, ErrorData> {
    let lists = server.lists();
    let page = page::of("tools", &lists.tools, |tool| &tool.name, page)?;
    // The list is the same for everybody, so shared caches may keep it.
    let mut result = ListToolsResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    result.cache_scope = Some(CacheScope::Public);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(super) async fn call(
    server: &Arc<Shared>,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if server.fallback_tools && request.name == steer::STEER_CALL {
        let arguments = request.arguments.unwrap_or_default();
        return Ok(CallToolResponse::Complete(steer::call(server, &server.principal(&context), arguments)));
    }
    if let Some(beyond) = server.catalog.now().beyond(&request.name) {
        return call_beyond(server, beyond.clone(), request, context).await;
    }
    let Some(exposed) = server.catalog.now().get(&request.name).cloned() else {
        let text = format!("unknown tool `{}`; tools/list names those there are", printable(&request.name));
        return Err(ErrorData::invalid_params(text, None));
    };
    let plugin = exposed.plugin().clone();
    let asked = Request {
        method: "tools/call",
        target: &request.name,
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        plugin: respond::By::Plugin(&plugin),
        state: request.request_state,
        given: request.input_responses,
    };
    let (running, stateless) = (server.clone(), is_stateless(&context));
    let make = move |arguments, call| run(running, exposed, arguments, stateless, call);
    match respond::call(server, asked, &context, make).await? {
        Response::Complete(Output::Tool(result)) => Ok(CallToolResponse::Complete(result)),
        Response::Complete(_) => respond::mistaken(),
        Response::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
    }
}

/// A tool of a server behind this host.
async fn call_beyond(
    server: &Arc<Shared>,
    beyond: Beyond,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let asked = Request {
        method: "tools/call",
        target: &request.name,
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        plugin: respond::By::Beyond(&beyond),
        state: request.request_state,
        given: request.input_responses,
    };
    let (running, tool) = (server.clone(), beyond.clone());
    let make = move |arguments: Value, call: CallRequest| async move {
        let (meta, text) = (running.meta_of(&call.context), arguments.to_string());
        let finished = running.runner.call_beyond(&tool, &arguments, text, call).await;
        Ok(Output::Tool(result::of(finished, meta)))
    };
    match respond::call(server, asked, &context, make).await? {
        Response::Complete(Output::Tool(result)) => Ok(CallToolResponse::Complete(result)),
        Response::Complete(_) => respond::mistaken(),
        Response::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
    }
}

/// One call of a tool, whatever requests it is served under.
async fn run(
    server: Arc<Shared>,
    exposed: Exposed<PluginTool>,
    arguments: Value,
    stateless: bool,
    call: CallRequest,
) -> Outcome {
    let meta = server.meta_of(&call.context);
    let text = arguments.to_string();
    let finished = server.runner.call(exposed.plugin(), exposed.tool(), &arguments, text, call).await;
    respond::lacking(stateless, &finished)?;
    Ok(Output::Tool(result::of(finished, meta)))
}
