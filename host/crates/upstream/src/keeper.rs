//! Keeps a server connected: connects, looks after the connection, and when it is lost connects again, later and later
//! while that fails.

use super::ear::Ear;
use super::link::{self, Linked};
use crate::UpstreamError;
use crate::{Link, Shared, live, setting, tools};
use futures::FutureExt;
use futures::future::FusedFuture;
use mcp::CLIENT_TOOLS;
use platform::telemetry::printable;
use rmcp::model::{ServerNotification, SubscribeRequestParams, SubscriptionFilter};
use rmcp::service::{ServiceError, Subscription};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Between two attempts: from, to. Bounds what a server that is not there costs.
const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(60);
/// A connection that stood for so long was a good one: the next attempt comes soon.
const GOOD: Duration = Duration::from_secs(10);
/// How long a program may take to end by itself.
const ENDING: Duration = Duration::from_secs(3);
/// Whether a server that lost a request is there at all.
const LOOKING: Duration = Duration::from_secs(5);

pub(super) async fn run(shared: Arc<Shared>, mut live: mpsc::Receiver<(String, Value)>) {
    let mut delay = FIRST;
    while !shared.stop.is_cancelled() {
        let began = shared.clock.now();
        let reason = match link::link(&shared.settings, shared.open.clone(), Ear(shared.clone())).await {
            Ok(linked) => stand(&shared, linked, &mut live).await,
            Err(error) => error.to_string(),
        };
        if shared.clock.now().saturating_duration_since(began) >= GOOD {
            delay = FIRST;
        }
        let known = lost(&shared, &reason);
        if shared.stop.is_cancelled() {
            break;
        }
        let (server, place) = (shared.name(), shared.settings.place());
        let again = humantime::format_duration(delay);
        match known {
            true => {
                tracing::debug!(server, place = %printable(&place), "not connected: {reason}; trying again in {again}")
            }
            false => tracing::warn!(server, place = %printable(&place), "not connected: {reason}; trying again"),
        }
        let _ = shared.stop.run_until_cancelled(tokio::time::sleep(delay)).await;
        delay = (delay * 2).min(LAST);
    }
}

/// Nobody can use it now; whether that is for the same reason as before.
fn lost(shared: &Shared, reason: &str) -> bool {
    let known = {
        let mut state = shared.state();
        if let Some(link) = state.link.take() {
            link.gone.cancel();
        }
        state.tools = Arc::default();
        state.reason.replace(reason.to_owned()).as_deref() == Some(reason)
    };
    shared.changes.send_modify(|count| *count += 1);
    known
}

/// Looks after a connection until it is lost, and says why it was.
async fn stand(shared: &Arc<Shared>, linked: Linked<Ear>, live: &mut mpsc::Receiver<(String, Value)>) -> String {
    let Linked { service, child } = linked;
    let peer = service.peer().clone();
    let info = peer.peer_info();
    let modern = info.as_ref().is_some_and(|info| info.protocol_version.as_str() >= "2026-07-28");
    let lanes = info.as_ref().map(|info| setting(&info.capabilities, CLIENT_TOOLS)).unwrap_or_default();
    let usable = !shared.offer.is_empty()
        && modern
        && lanes["lanes"].as_array().is_some_and(|lanes| lanes.iter().any(|lane| lane == "live"));
    let gone = CancellationToken::new();
    let channels = live::Channels::new(peer.clone(), usable);
    let link = Arc::new(Link { peer, modern, channels, gone: gone.clone(), doubted: Notify::new() });
    let token = service.cancellation_token();
    let (mut ended, listing) = (std::pin::pin!(service.waiting().fuse()), list(shared, &link));
    let looked = tokio::select! {
        biased;
        () = shared.stop.cancelled() => Err("it was closed".to_owned()),
        _ = &mut ended => Err("the connection was lost".to_owned()),
        listed = listing => listed.map_err(|error| error.to_string()),
    };
    let reason = match looked {
        Err(reason) => reason,
        Ok(()) => {
            tracing::info!(server = shared.name(), modern, tools = shared.tools().len(), "connected");
            let looking = look_after(shared, &link, live);
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => "it was closed".to_owned(),
                _ = &mut ended => "the connection was lost".to_owned(),
                reason = looking => reason,
            }
        }
    };
    gone.cancel();
    token.cancel();
    // It closes the program's stdin, which is how a program is told to end; one that does not is killed.
    if !ended.is_terminated() {
        let _ = tokio::time::timeout(ENDING, ended).await;
    }
    if let Some(mut child) = child {
        let _ = tokio::time::timeout(ENDING, child.wait()).await;
    }
    reason
}

/// Asks for the tools; from then on they can be called.
async fn list(shared: &Arc<Shared>, link: &Arc<Link>) -> Result<(), UpstreamError> {
    let has_tools = link.peer.peer_info().is_some_and(|info| info.capabilities.tools.is_some());
    let listed = if has_tools { tools::list(shared.name(), &link.peer).await? } else { Vec::new() };
    let listed = shared.known.fit(shared.name(), shared.settings.definitions.as_ref(), listed);
    {
        let mut state = shared.state();
        (state.link, state.tools) = (Some(link.clone()), Arc::new(listed));
    }
    shared.changes.send_modify(|count| *count += 1);
    Ok(())
}

/// Follows what changes, until the server turns out to be gone.
async fn look_after(shared: &Arc<Shared>, link: &Arc<Link>, live: &mut mpsc::Receiver<(String, Value)>) -> String {
    let mut following = match link.modern {
        true => listen(shared, link).await,
        false => {
            let watched: Vec<String> = shared.watched().iter().cloned().collect();
            for uri in watched {
                if let Err(error) = shared.within(link.peer.subscribe(SubscribeRequestParams::new(uri))).await {
                    tracing::warn!(server = shared.name(), "a resource cannot be watched any more: {error}");
                }
            }
            None
        }
    };
    loop {
        let follow = async {
            match following.as_mut() {
                Some(subscription) => subscription.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((method, params)) = live.recv() => link.channels.hears(&method, params),
            () = shared.refresh.notified() => {
                if let Err(error) = list(shared, link).await {
                    return error.to_string();
                }
                shared.face.changed(shared.name(), "tools");
            }
            () = shared.rewatch.notified(), if link.modern => {
                following = listen(shared, link).await;
            }
            followed = follow => match followed {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => shared.refresh.notify_one(),
                Ok(Some(ServerNotification::ResourceListChangedNotification(_))) => {
                    shared.face.changed(shared.name(), "resources");
                }
                Ok(Some(ServerNotification::PromptListChangedNotification(_))) => {
                    shared.face.changed(shared.name(), "prompts");
                }
                Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => {
                    shared.updated(&updated.params.uri);
                }
                Ok(Some(_)) => {}
                // Over HTTP this stream is all there is of a connection.
                Ok(None) => return "the server ended the subscription".into(),
                Err(error) => return printable(&error.to_string()).into_owned(),
            },
            () = link.doubted.notified() => {
                match tokio::time::timeout(LOOKING, tools::list(shared.name(), &link.peer)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error.to_string(),
                    Err(_) => return "it does not answer".into(),
                }
            }
        }
    }
}

/// Subscribes to all that can change. A server that has no subscriptions is asked for nothing.
async fn listen(shared: &Arc<Shared>, link: &Arc<Link>) -> Option<Subscription> {
    let mut filter =
        SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed().build();
    let watched: Vec<String> = shared.watched().iter().cloned().collect();
    filter.resource_subscriptions = (!watched.is_empty()).then_some(watched);
    let listening = async {
        match link.peer.listen(filter).await {
            Err(ServiceError::McpError(error)) => {
                tracing::debug!(server = shared.name(), "no subscriptions: {}", printable(&error.message));
                Ok(None)
            }
            other => other.map(Some),
        }
    };
    match shared.within(listening).await {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::warn!(server = shared.name(), "changes are not told: {error}");
            None
        }
    }
}
