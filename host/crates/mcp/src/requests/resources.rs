//! `resources/list`, `resources/templates/list`, `resources/read`.

use super::call_result;
use super::dispatch::{CallTarget, PluginRequest, RoundResponse, check_capabilities, dispatch, unexpected_output};
use crate::calls::output::{CallOutcome, CallOutput};
use crate::listing::{page, published};
use crate::request_context::is_stateless;
use crate::server_context::ServerContext;
use platform::telemetry::printable;
use plugins::calls::CallRequest;
use plugins::catalog::Plugin;
use policy::Principal;
use protocol::content::to_resource_contents;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use std::sync::Arc;

/// The scheme of resources in the principal store, which no plugin can use.
const STORE_SCHEME: &str = "portcullis:";

pub(crate) fn list(
    server: &ServerContext,
    principal: &Principal,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut resources = server.lists().resources.clone();
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

pub(crate) fn templates(
    server: &ServerContext,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let lists = server.lists();
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
    if uri.starts_with(STORE_SCHEME) {
        let reading =
            server.principal_store.read(&server.principal(&context), &uri).ok_or_else(|| unknown_resource(&uri))?;
        return Ok(ReadResourceResponse::Complete(published::to_read_result(reading, server.meta(None))));
    }
    let Some(plugin) = server.catalog.snapshot().plugin_for_uri(&uri).cloned() else {
        return Err(unknown_resource(&uri));
    };
    let plugin_request = PluginRequest {
        method: "resources/read",
        name: &uri,
        arguments: Value::Null,
        target: CallTarget::Plugin(&plugin),
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    let (running, stateless) = (server.clone(), is_stateless(&context));
    let (reader, target) = (plugin.clone(), uri.clone());
    let make_call = move |_, call| run(running, reader, target, stateless, call);
    match dispatch(server, plugin_request, &context, make_call).await? {
        RoundResponse::Complete(CallOutput::Resource(result)) => Ok(ReadResourceResponse::Complete(result)),
        RoundResponse::Complete(_) => unexpected_output(),
        RoundResponse::InputRequired(result) => Ok(ReadResourceResponse::InputRequired(result)),
    }
}

/// The call itself, which may span several requests.
async fn run(
    server: Arc<ServerContext>,
    plugin: Arc<Plugin>,
    uri: String,
    stateless: bool,
    call: CallRequest,
) -> CallOutcome {
    let meta = server.call_meta(&call.context);
    let finished = server.runner.read_resource(&plugin, &uri, call).await;
    check_capabilities(stateless, &finished)?;
    match finished.result {
        Ok(Some(pieces)) => {
            // A plugin does not say how long a resource may be cached, or by whom.
            let mut result =
                ReadResourceResult::new(pieces.into_iter().map(to_resource_contents).collect()).with_ttl_ms(0);
            result.cache_scope = Some(CacheScope::Private);
            result.meta = Some(call_result::with_usage(&finished.usage, meta));
            Ok(CallOutput::Resource(result))
        }
        Ok(None) => Err(unknown_resource(&uri)),
        Err(error) => Err(call_result::to_error(&error, &finished.usage)),
    }
}

/// rmcp chooses the error code, which depends on the revision of the protocol.
fn unknown_resource(uri: &str) -> ErrorData {
    let text = format!("no resource `{}`; resources/list lists the available ones", printable(uri));
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
