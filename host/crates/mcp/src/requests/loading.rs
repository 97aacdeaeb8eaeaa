//! Requests that arrive while plugins are being loaded, and what clients are told of plugins that are missing.

use crate::client::progress_token::ProgressToken;
use crate::server_context::ServerContext;
use plugins::catalog::{Catalog, Missing, MissingPlugins};
use rmcp::model::{GetExtensions as _, JsonObject};
use rmcp::service::{OriginatingRequestId, RequestContext, RoleServer};
use runtime::imports::ProgressReport;
use std::time::Duration;

/// Time between two messages to a client that waits.
const PROGRESS: Duration = Duration::from_secs(1);

/// Waits until the catalog has what a request names, or nothing is loaded any more that could bring it, or the request is
/// cancelled. The client is told what it waits for, if it asked for progress. False if there was nothing to wait for.
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

/// Tells the client what is being loaded, again and again. Never ends.
async fn report(server: &ServerContext, context: &RequestContext<RoleServer>) {
    // A token that cannot be given back is refused by the call itself.
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
        // A client that is gone cancels the request.
        let _ = context.peer.send_notification(notification).await;
    }
}

/// What a new client is told of plugins that it will not find, or not yet. Their own words are not repeated.
pub(crate) fn instructions(missing: &MissingPlugins) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let named = |wanted: fn(&Missing) -> bool| {
        let names: Vec<_> = missing.iter().filter(|(_, why)| wanted(why)).map(|(table, _)| short(table)).collect();
        Some(names.join(", ")).filter(|names| !names.is_empty())
    };
    let failed = named(|why| matches!(why, Missing::Failed(_)))
        .map(|names| format!("These plugins cannot be loaded: {names}. The log of the server says why."));
    let loading = named(|why| *why == Missing::Loading)
        .map(|names| format!("The tools of these plugins are announced when they are ready: {names}."));
    Some(failed.into_iter().chain(loading).collect::<Vec<_>>().join(" "))
}

/// A plugin's name without its table.
fn short(table: &str) -> &str {
    table.split_once('.').map_or(table, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_what_is_missing_and_not_why() {
        let missing = |entries: &[(&str, Missing)]| {
            entries.iter().map(|(table, why)| ((*table).to_owned(), why.clone())).collect::<MissingPlugins>()
        };
        assert_eq!(instructions(&missing(&[])), None);
        let both = missing(&[("plugins.a", Missing::Failed("secret path".into())), ("plugins.b", Missing::Loading)]);
        let text = instructions(&both).unwrap();
        assert!(text.contains("cannot be loaded: a.") && text.contains("ready: b."), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}
