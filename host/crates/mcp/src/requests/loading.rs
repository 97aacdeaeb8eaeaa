//! Makes requests wait that arrive while plugins are being loaded.

use crate::client::progress_token::ProgressToken;
use crate::server_context::ServerContext;
use plugins::catalog::{Catalog, Missing};
use rmcp::model::{GetExtensions as _, JsonObject};
use rmcp::service::{OriginatingRequestId, RequestContext, RoleServer};
use runtime::imports::ProgressReport;
use std::time::Duration;

/// Time between two messages to a client that waits.
const PROGRESS: Duration = Duration::from_secs(1);

/// Waits until the catalog has what a request names, or no plugin that could bring it is being loaded any more, or the request
/// is cancelled. If the client asked for progress, it is notified what it waits for. False if there was nothing to wait for.
pub(crate) async fn wait_until(
    server: &ServerContext,
    found: impl Fn(&Catalog) -> bool,
    context: &RequestContext<RoleServer>,
) -> bool {
    let catalog = server.catalog.snapshot();
    if !catalog.is_loading() || found(&catalog) {
        return false;
    }
    let reached = server.catalog.when(found);
    tokio::select! {
        _ = reached => {}
        () = context.ct.cancelled() => {}
        () = report(server, context) => {}
    }
    true
}

/// Notifies the client again and again what is being loaded. Never ends.
async fn report(server: &ServerContext, context: &RequestContext<RoleServer>) {
    // A token that cannot be sent back is refused later by the call itself.
    let Ok(Some(token)) = ProgressToken::from_context(context) else { return std::future::pending().await };
    for progress in 1_u32.. {
        tokio::time::sleep(PROGRESS).await;
        let catalog = server.catalog.snapshot();
        let tables = catalog.missing().iter().filter(|(_, missing)| **missing == Missing::Loading);
        let names: Vec<_> = tables.map(|(table, _)| short(table)).collect();
        let text = match names.as_slice() {
            [] => "waiting for servers behind this host".to_owned(),
            names => format!("waiting for plugins that are being prepared: {}", names.join(", ")),
        };
        let report = ProgressReport { done: f64::from(progress), total: None, message: Some(text) };
        let mut notification = token.notification(report, JsonObject::new());
        notification.extensions_mut().insert(OriginatingRequestId(context.id.clone()));
        // If the client is gone, its request is cancelled anyway.
        let _ = context.peer.send_notification(notification).await;
    }
}

/// A plugin's name without its table.
fn short(table: &str) -> &str {
    table.split_once('.').map_or(table, |(_, name)| name)
}
