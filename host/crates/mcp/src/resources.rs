//! `resources/list`, `resources/templates/list`, `resources/read`.

use super::content::contents;
use super::respond::{self, Request, Response};
use super::round::{Outcome, Output, is_stateless};
use super::server::Shared;
use super::{page, published, result};
use platform::telemetry::printable;
use plugins::registry::{CallRequest, Plugin};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use std::sync::Arc;

/// The host's own resources; no plugin can offer any under this scheme.
const SHELF: &str = "portcullis:";

pub(super) fn list(
    server: &Shared,
    principal: &Principal,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut resources = server.lists().resources.clone();
    resources.extend(server.shelf.list_resources(principal).into_iter().map(published::resource));
    resources.sort_by(|a, b| a.uri.cmp(&b.uri));
    let page = page::of("resources", &resources, |resource| &resource.uri, page)?;
    let mut result = ListResourcesResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    // Principals may see different ones.
    result.cache_scope = Some(CacheScope::Private);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(super) fn templates(
    server: &Shared,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let lists = server.lists();
    let page = page::of("templates", &lists.templates, |template| &template.uri_template, page)?;
    let mut result = ListResourceTemplatesResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    result.cache_scope = Some(CacheScope::Public);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(super) async fn read(
    server: &Arc<Shared>,
    request: ReadResourceRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri;
    if uri.starts_with(SHELF) {
        let reading = server.shelf.read(&server.principal(&context), &uri).ok_or_else(|| unknown(&uri))?;
        return Ok(ReadResourceResponse::Complete(published::reading(reading, server.meta(None))));
    }
    let Some(plugin) = server.catalog.now().reader(&uri).cloned() else { return Err(unknown(&uri)) };
    let asked = Request {
        method: "resources/read",
        target: &uri,
        arguments: Value::Null,
        plugin: respond::By::Plugin(&plugin),
        state: request.request_state,
        given: request.input_responses,
    };
    let (running, stateless) = (server.clone(), is_stateless(&context));
    let (reader, target) = (plugin.clone(), uri.clone());
    let make = move |_, call| run(running, reader, target, stateless, call);
    match respond::call(server, asked, &context, make).await? {
        Response::Complete(Output::Resource(result)) => Ok(ReadResourceResponse::Complete(result)),
        Response::Complete(_) => respond::mistaken(),
        Response::InputRequired(result) => Ok(ReadResourceResponse::InputRequired(result)),
    }
}

/// One reading, whatever requests it is served under.
async fn run(server: Arc<Shared>, plugin: Arc<Plugin>, uri: String, stateless: bool, call: CallRequest) -> Outcome {
    let meta = server.meta_of(&call.context);
    let finished = server.runner.read(&plugin, &uri, call).await;
    respond::lacking(stateless, &finished)?;
    match finished.result {
        Ok(Some(pieces)) => {
            // A plugin says nothing of how long its words hold, nor whom else they would serve.
            let mut result = ReadResourceResult::new(pieces.into_iter().map(contents).collect()).with_ttl_ms(0);
            result.cache_scope = Some(CacheScope::Private);
            result.meta = Some(result::cost(&finished.usage, meta));
            Ok(Output::Resource(result))
        }
        Ok(None) => Err(unknown(&uri)),
        Err(error) => Err(result::refused(&error, &finished.usage)),
    }
}

/// The code differs between the eras, which is rmcp's to know.
fn unknown(uri: &str) -> ErrorData {
    let text = format!("no resource `{}`; resources/list names those there are", printable(uri));
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
