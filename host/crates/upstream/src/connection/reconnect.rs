//! Keeps a server connected: connects, watches the connection and reconnects with growing delays.

use crate::api::error::UpstreamError;
use crate::connection::client_events::ClientEvents;
use crate::connection::items::ItemReader;
use crate::connection::pages::{Listed, read_list};
use crate::connection::shared::{ServerConnection, UpstreamShared};
use crate::connection::subscription::{on_change, subscribe};
use crate::connection::tools::ToolReader;
use crate::listed::list_kind::ListKind;
use crate::listed::problems::Problems;
use crate::open_call::live_lane::UpstreamChannels;
use crate::server_input::peer_account::PeerAccount;
use crate::transport::{NewConnection, connect};
use futures::FutureExt;
use futures::future::FusedFuture;
use platform::telemetry::printable;
use protocol::names::{CLIENT_TOOLS, TASKS};
use rmcp::model::ServerCapabilities;
use rmcp::service::Subscription;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Delay between two attempts. Bounds the cost of a server that is down.
const MIN_DELAY: Duration = Duration::from_millis(250);
const MAX_DELAY: Duration = Duration::from_secs(60);
/// A connection that lasted this long resets the delay.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// Time for a program to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time between two readings of lists. Bounds the cost of a server that reports all the time that they have changed.
const RELIST_DELAY: Duration = Duration::from_secs(1);
/// Time for a server to acknowledge our subscription before its lists are read. Bounds how long a server that does not do so delays its
/// tools.
const SUBSCRIBE_PATIENCE: Duration = Duration::from_secs(1);
/// Time for a server to answer after it has lost a request.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn run(shared: Arc<UpstreamShared>, mut live: mpsc::Receiver<(String, Value)>) {
    let mut delay = MIN_DELAY;
    while !shared.stop.is_cancelled() {
        let began = shared.clock.now();
        let account = PeerAccount::new(shared.name());
        let (observer, handler) = (shared.open_calls.clone(), ClientEvents(shared.clone()));
        let reason = match connect(&shared.settings, observer, account.clone(), shared.clock.clone(), handler).await {
            Ok(connection) => run_connection(&shared, connection, &account, &mut live).await,
            Err(error) => error.to_string(),
        };
        // If this host ended the connection, that is the cause of everything that came after it.
        let reason = account.reason().unwrap_or(reason);
        if shared.clock.now().saturating_duration_since(began) >= STABLE_AFTER {
            delay = MIN_DELAY;
        }
        let same_reason = set_disconnected(&shared, &reason);
        if shared.stop.is_cancelled() {
            break;
        }
        let (server, address) = (shared.name(), shared.settings.address());
        let address = printable(&address);
        let retry_in = humantime::format_duration(delay);
        match same_reason {
            true => tracing::debug!(server, %address, "not connected: {reason}; trying again in {retry_in}"),
            false => tracing::warn!(server, %address, "not connected: {reason}; trying again"),
        }
        let _ = shared.stop.run_until_cancelled(tokio::time::sleep(delay)).await;
        delay = (delay * 2).min(MAX_DELAY);
    }
}

/// Stores the reason. The tools stay listed, and calls of them report it. Returns whether the reason is the same as before.
fn set_disconnected(shared: &UpstreamShared, reason: &str) -> bool {
    let same_reason = {
        let mut state = shared.connection_state();
        if let Some(connection) = state.connection.take() {
            connection.lost.cancel();
        }
        state.reason.replace(reason.to_owned()).as_deref() == Some(reason)
    };
    shared.changes.send_modify(|count| *count += 1);
    same_reason
}

/// Runs a connection until it is lost. Returns the reason.
async fn run_connection(
    shared: &Arc<UpstreamShared>,
    connection: NewConnection<ClientEvents>,
    account: &PeerAccount,
    live: &mut mpsc::Receiver<(String, Value)>,
) -> String {
    let NewConnection { service, program } = connection;
    let peer = service.peer().clone();
    let info = peer.peer_info();
    let modern = info.as_ref().is_some_and(|info| info.protocol_version.as_str() >= "2026-07-28");
    if !modern {
        account.end_cancelled();
    }
    let lanes = info.as_ref().map(|info| extension_settings(&info.capabilities, CLIENT_TOOLS)).unwrap_or_default();
    let usable = !shared.offer.is_empty()
        && modern
        && lanes["lanes"].as_array().is_some_and(|lanes| lanes.iter().any(|lane| lane == "live"));
    let has_tasks =
        modern && info.as_ref().is_some_and(|info| !extension_settings(&info.capabilities, TASKS).is_null());
    let lost = CancellationToken::new();
    let channels = UpstreamChannels::new(peer.clone(), usable);
    let connection = Arc::new(ServerConnection {
        peer,
        modern,
        has_tasks,
        channels,
        lost: lost.clone(),
        check_requested: Notify::new(),
    });
    let token = service.cancellation_token();
    let mut ended = std::pin::pin!(service.waiting().fuse());
    let serving = async {
        match list_and_subscribe(shared, &connection, account).await {
            Ok(subscription) => watch_connection(shared, &connection, account, live, subscription).await,
            Err(error) => error.to_string(),
        }
    };
    let reason = tokio::select! {
        biased;
        () = shared.stop.cancelled() => "it was closed".to_owned(),
        _ = &mut ended => "the connection was lost".to_owned(),
        reason = serving => reason,
    };
    lost.cancel();
    token.cancel();
    // Ending the service closes the program's stdin, which asks it to exit. It is killed if it does not.
    if !ended.is_terminated() {
        let _ = tokio::time::timeout(EXIT_TIMEOUT, ended).await;
    }
    if let Some(program) = program {
        program.has_ended_within(EXIT_TIMEOUT).await;
    }
    reason
}

/// Reads all lists. It subscribes to changes before that, so that no change of a list is missed in between.
async fn list_and_subscribe(
    shared: &Arc<UpstreamShared>,
    connection: &Arc<ServerConnection>,
    account: &PeerAccount,
) -> Result<Option<Subscription>, UpstreamError> {
    let mut subscribing = Box::pin(subscribe(shared, connection));
    let in_time = tokio::time::timeout(SUBSCRIBE_PATIENCE, &mut subscribing).await;
    refresh(shared, connection, account, ListKind::ALL).await?;
    tracing::info!(server = shared.name(), modern = connection.modern, tools = shared.tools().len(), "connected");
    if let Ok(subscription) = in_time {
        return Ok(subscription);
    }
    let subscription = subscribing.await;
    if subscription.is_some() {
        for kind in [ListKind::Tools, ListKind::Resources, ListKind::Prompts] {
            shared.list_changed(kind);
        }
    }
    Ok(subscription)
}

/// Reads lists of the server and makes them available. Fails if the tools cannot be listed, since the server is then of no use;
/// any other list is only left out.
async fn refresh(
    shared: &Arc<UpstreamShared>,
    connection: &Arc<ServerConnection>,
    account: &PeerAccount,
    kinds: impl IntoIterator<Item = ListKind>,
) -> Result<(), UpstreamError> {
    let (server, info) = (shared.name(), connection.peer.peer_info());
    let is_declared = |kind: ListKind| info.as_ref().is_some_and(|info| kind.is_declared(&info.capabilities));
    for kind in kinds {
        if kind == ListKind::Tools {
            let Listed { items, problems } = match is_declared(kind) {
                true => read_list(&ToolReader { server, connection }, server, account).await?,
                false => Listed::none(kind),
            };
            let tools = shared.known_definitions.check(server, shared.settings.definitions.as_ref(), items);
            shared.connection_state().tools = Some(Arc::new(tools));
            keep_problems(shared, kind, problems);
        } else if shared.handler.passes_on_items() {
            let listed = match is_declared(kind) {
                true => read_list(&ItemReader { server, connection, kind }, server, account).await,
                false => Ok(Listed::none(kind)),
            };
            match listed {
                Ok(Listed { items, problems }) => {
                    shared.connection_state().keep_items(kind, items);
                    keep_problems(shared, kind, problems);
                }
                Err(error) => {
                    let mut problems = Problems::new(kind);
                    problems.cut(format!("the list of {}s cannot be read: {error}", kind.noun()));
                    keep_problems(shared, kind, problems);
                }
            }
        }
    }
    {
        let mut state = shared.connection_state();
        state.has_resources = is_declared(ListKind::Resources);
        state.connection = Some(connection.clone());
    }
    shared.changes.send_modify(|count| *count += 1);
    Ok(())
}

/// Logs problems only if they are new, so that a server that changes its list all the time does not fill the log.
fn keep_problems(shared: &UpstreamShared, kind: ListKind, problems: Problems) {
    let mut state = shared.connection_state();
    if state.problems.get(&kind).unwrap_or(&Problems::new(kind)) != &problems {
        problems.log(shared.name());
        state.problems.insert(kind, problems);
    }
}

/// Follows changes until the server is lost. Returns the reason.
async fn watch_connection(
    shared: &Arc<UpstreamShared>,
    connection: &Arc<ServerConnection>,
    account: &PeerAccount,
    live: &mut mpsc::Receiver<(String, Value)>,
    mut subscription: Option<Subscription>,
) -> String {
    let mut relist_from = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    loop {
        let relist = async {
            relist_from.as_mut().await;
            shared.changed_lists.next().await
        };
        let next = async {
            match subscription.as_mut() {
                Some(subscription) => subscription.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((method, params)) = live.recv() => connection.channels.on_notification(&method, params),
            kinds = relist => {
                relist_from.set(tokio::time::sleep(RELIST_DELAY));
                let tools = kinds.contains(&ListKind::Tools);
                if let Err(error) = refresh(shared, connection, account, kinds).await {
                    return error.to_string();
                }
                if tools {
                    shared.tools_changed();
                }
            }
            () = shared.resubscribe.notified(), if connection.modern => {
                let former = std::mem::replace(&mut subscription, subscribe(shared, connection).await);
                // Notifications that the former subscription got before the new one was acknowledged.
                for notification in former.into_iter().flat_map(|mut it| std::iter::from_fn(move || it.next().now_or_never()?.ok()?)) {
                    on_change(shared, notification);
                }
            }
            notification = next => match notification {
                Ok(Some(notification)) => on_change(shared, notification),
                // Over HTTP the subscription is the only lasting part of a connection.
                Ok(None) => return "the server ended the subscription".into(),
                Err(error) => return printable(&error.to_string()).into_owned(),
            },
            () = connection.check_requested.notified() => {
                let tools = ToolReader { server: shared.name(), connection };
                match tokio::time::timeout(CHECK_TIMEOUT, read_list(&tools, shared.name(), account)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error.to_string(),
                    Err(_) => return "the server does not answer".into(),
                }
            }
        }
    }
}

/// The settings of an extension; null when the server does not declare it.
fn extension_settings(capabilities: &ServerCapabilities, id: &str) -> Value {
    let settings = capabilities.extensions.as_ref().and_then(|all| all.get(id));
    settings.map(|settings| Value::Object(settings.clone())).unwrap_or_default()
}
