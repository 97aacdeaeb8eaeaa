//! `resources/list`, `resources/templates/list`, `resources/read`.

use super::call_result::{CallResult, unexpected_result};
use super::dispatch::{TargetRequest, dispatch};
use super::round_response::RoundResponse;
use super::{loading, task_resource};
use crate::listing::{page, published};
use crate::server_context::ServerContext;
use crate::subscriptions::updates::ListReading;
use crate::tasks::TASK_URI;
use platform::telemetry::printable;
use plugins::calls::{CallTarget, PluginCall};
use plugins::catalog::{Catalog, ItemRequest, ResourceOwner, UPSTREAM_ADDRESSES, upstream_address};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents,
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
    reading: &ListReading<'_>,
) -> Result<ListResourcesResult, ErrorData> {
    let lists = server.complete_lists().await;
    reading.note(lists.catalog.number(), page.as_ref());
    let mut resources = lists.resources.clone();
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
    reading: &ListReading<'_>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let lists = server.complete_lists().await;
    reading.note(lists.catalog.number(), page.as_ref());
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
    if uri.starts_with(STORE_SCHEME) && !uri.starts_with(UPSTREAM_ADDRESSES) {
        let reading =
            server.principal_store.read(&server.principal(&context), &uri).ok_or_else(|| unknown_resource(&uri))?;
        return Ok(ReadResourceResponse::Complete(published::to_read_result(reading, server.meta(None))));
    }
    loading::wait_until(server, |catalog| catalog.resource_owner(&uri).is_some(), &context).await;
    let catalog = server.catalog.snapshot();
    let request = TargetRequest {
        method: "resources/read",
        name: &uri,
        target: find(&catalog, &uri)?,
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    match dispatch(server, request, &context).await? {
        RoundResponse::Complete(CallResult::Resource(result)) => {
            let result = result.ok_or_else(|| unknown_resource(&uri))?;
            Ok(ReadResourceResponse::Complete(as_asked_for(result, &catalog, &uri)))
        }
        RoundResponse::Complete(_) | RoundResponse::Task(_) => unexpected_result(),
        RoundResponse::InputRequired(result) => Ok(ReadResourceResponse::InputRequired(result)),
    }
}

/// The plugin or server that has the resource.
fn find(catalog: &Catalog, uri: &str) -> Result<CallTarget, ErrorData> {
    let of = |uri: &str| ItemRequest::Resource { uri: uri.to_owned() };
    match catalog.resource_owner(uri) {
        Some(ResourceOwner::Plugin(plugin)) => Ok(CallTarget::Plugin(plugin.clone(), PluginCall::Item(of(uri)))),
        Some(ResourceOwner::Server(server, own)) => Ok(CallTarget::UpstreamItem(server.clone(), of(own))),
        Some(ResourceOwner::Several(servers)) => {
            let addresses: Vec<_> = servers.iter().map(|server| upstream_address(server, uri)).collect();
            let text = format!("several servers have `{}`; read one of {}", printable(uri), addresses.join(", "));
            Err(not_found(text, uri))
        }
        None => Err(match catalog.missing_upstreams().collect::<Vec<_>>().as_slice() {
            [] => unknown_resource(uri),
            missing => {
                let (uri_text, servers) = (printable(uri), missing.join(", "));
                let text = format!(
                    "no resource `{uri_text}`; those of servers that are not connected at the moment are not known ({servers})"
                );
                not_found(text, uri)
            }
        }),
    }
}

/// Returns the contents under the address by which the client has asked for the resource.
fn as_asked_for(mut result: ReadResourceResult, catalog: &Catalog, asked: &str) -> ReadResourceResult {
    let Some(ResourceOwner::Server(server, own)) = catalog.resource_owner(asked) else { return result };
    let address = catalog.address_of(&server.id.name, own);
    for content in &mut result.contents {
        if let ResourceContents::TextResourceContents { uri, .. } | ResourceContents::BlobResourceContents { uri, .. } =
            content
            && *uri == address
        {
            asked.clone_into(uri);
        }
    }
    result
}

/// rmcp chooses the error code, which depends on the version of the protocol.
fn unknown_resource(uri: &str) -> ErrorData {
    let text = format!("no resource `{}`; resources/list lists the available ones", printable(uri));
    not_found(text, uri)
}

fn not_found(text: String, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
