//! `resources/list`, `resources/templates/list`, `resources/read`.

use super::call_result::{CallResult, unexpected_result};
use super::dispatch::{TargetRequest, dispatch};
use super::round_response::RoundResponse;
use super::{loading, task_resource};
use crate::listing::{page, published};
use crate::server_context::ServerContext;
use crate::tasks::TASK_URI;
use platform::telemetry::printable;
use plugins::calls::{CallTarget, PluginCall};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use std::sync::Arc;

/// The scheme of resources in the principal store, which no plugin can use.
const STORE_SCHEME: &str = "portcullis:";

pub(crate) async fn list(
    server: &ServerContext,
    principal: &Principal,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut resources = server.complete_lists().await.resources.clone();
    resources.extend(server.principal_store.list_resources(principal).into_iter().map(published::to_resource));
    resources.sort_by(|a, b| a.uri.cmp(&b.uri));
    let page = page::paginate("resources", &resources, |resource| &resource.uri, page)?;
    let mut result = ListResourcesResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    // Principals may see different resources.
    result.cache_scope = Some(CacheScope::Private);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(crate) async fn templates(
    server: &ServerContext,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let lists = server.complete_lists().await;
    let page = page::paginate("templates", &lists.templates, |template| &template.uri_template, page)?;
    let mut result = ListResourceTemplatesResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    result.cache_scope = Some(CacheScope::Public);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(crate) async fn read(
    server: &Arc<ServerContext>,
    request: ReadResourceRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri;
    if let Some(id) = uri.strip_prefix(TASK_URI) {
        let read = task_resource::read(server, &server.principal(&context), id).await?;
        return read.map(ReadResourceResponse::Complete).ok_or_else(|| unknown_resource(&uri));
    }
    if uri.starts_with(STORE_SCHEME) {
        let reading =
            server.principal_store.read(&server.principal(&context), &uri).ok_or_else(|| unknown_resource(&uri))?;
        return Ok(ReadResourceResponse::Complete(published::to_read_result(reading, server.meta(None))));
    }
    loading::wait_until(server, |catalog| catalog.plugin_for_uri(&uri).is_some(), &context).await;
    let Some(plugin) = server.catalog.snapshot().plugin_for_uri(&uri).cloned() else {
        return Err(unknown_resource(&uri));
    };
    let request = TargetRequest {
        method: "resources/read",
        name: &uri,
        target: CallTarget::Plugin(plugin, PluginCall::Resource { uri: uri.clone() }),
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    match dispatch(server, request, &context).await? {
        RoundResponse::Complete(CallResult::Resource(result)) => {
            result.map(ReadResourceResponse::Complete).ok_or_else(|| unknown_resource(&uri))
        }
        RoundResponse::Complete(_) | RoundResponse::Task(_) => unexpected_result(),
        RoundResponse::InputRequired(result) => Ok(ReadResourceResponse::InputRequired(result)),
    }
}

/// rmcp chooses the error code, which depends on the revision of the protocol.
fn unknown_resource(uri: &str) -> ErrorData {
    let text = format!("no resource `{}`; resources/list lists the available ones", printable(uri));
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
