//! `resources/list`, `resources/templates/list`, `resources/read`.

use super::content::contents;
use super::server::Shared;
use super::{calling, page, result};
use crate::registry::{CallRequest, Finished, Pieces, Plugin, Runner};
use crate::telemetry::printable;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use std::sync::Arc;

pub(super) fn list(server: &Shared, page: Option<PaginatedRequestParams>) -> Result<ListResourcesResult, ErrorData> {
    let lists = server.lists();
    let page = page::of("resources", &lists.resources, |resource| &resource.uri, page)?;
    let mut result = ListResourcesResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    // Principals may see different ones.
    result.cache_scope = Some(CacheScope::Private);
    result.next_cursor = page.next;
    result.meta = Some(server.meta());
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
    result.meta = Some(server.meta());
    Ok(result)
}

pub(super) async fn read(
    server: &Shared,
    request: ReadResourceRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    let uri = request.uri;
    let Some(plugin) = server.catalog.now().reader(&uri).cloned() else { return Err(unknown(&uri)) };
    let (call, forward) = calling::request(server, &context)?;
    let running = running(server.runner.clone(), plugin, uri.clone(), call);
    let finished = calling::beside(running, forward, &context.ct).await;
    answer(server, &uri, finished)
}

/// The call alone: it borrows nothing, so it can go on after the request is answered.
async fn running(runner: Arc<Runner>, plugin: Arc<Plugin>, uri: String, call: CallRequest) -> Finished<Pieces> {
    runner.read(&plugin, &uri, call).await
}

fn answer(server: &Shared, uri: &str, finished: Finished<Pieces>) -> Result<ReadResourceResult, ErrorData> {
    match finished.result {
        Ok(Some(pieces)) => {
            // A plugin says nothing of how long its words hold, nor whom else they would serve.
            let mut result = ReadResourceResult::new(pieces.into_iter().map(contents).collect()).with_ttl_ms(0);
            result.cache_scope = Some(CacheScope::Private);
            result.meta = Some(result::cost(&finished.usage, server.meta()));
            Ok(result)
        }
        Ok(None) => Err(unknown(uri)),
        Err(error) => Err(result::refused(&error, &finished.usage)),
    }
}

/// The code differs between the eras, which is rmcp's to know.
fn unknown(uri: &str) -> ErrorData {
    let text = format!("no resource `{}`; resources/list names those there are", printable(uri));
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}
