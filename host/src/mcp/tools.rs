//! `tools/list` and `tools/call`.

use super::server::Shared;
use super::{calling, page, result};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

pub(super) fn list(server: &Shared, page: Option<PaginatedRequestParams>) -> Result<ListToolsResult, ErrorData> {
    let lists = server.lists();
    let page = page::of("tools", &lists.tools, |tool| &tool.name, page)?;
    // The list is the same for everybody, so shared caches may keep it.
    let mut result = ListToolsResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    result.cache_scope = Some(CacheScope::Public);
    result.next_cursor = page.next;
    result.meta = Some(server.meta());
    Ok(result)
}

pub(super) async fn call(
    server: &Shared,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let Some(exposed) = server.catalog.now().get(&request.name).cloned() else {
        let text =
            format!("unknown tool `{}`; tools/list names those there are", crate::telemetry::printable(&request.name));
        return Err(ErrorData::invalid_params(text, None));
    };
    let (call, forward) = calling::request(server, &context)?;
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let text = arguments.to_string();
    let running = server.runner.call(exposed.plugin(), exposed.tool(), &arguments, text, call);
    let finished = calling::beside(running, forward, &context.ct).await;
    Ok(result::of(finished, server.meta()))
}
