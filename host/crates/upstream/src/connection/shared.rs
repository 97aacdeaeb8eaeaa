//! State of one server that its connection, its calls and its handle share.

use crate::api::error::{UNREADABLE, UpstreamError};
use crate::api::handler::{AgentHandler, Changed};
use crate::api::offer::ToolOffer;
use crate::api::settings::UpstreamSettings;
use crate::listed::definitions::KnownDefinitions;
use crate::listed::list_kind::{ChangedLists, ListKind};
use crate::listed::listed_item::ListedItems;
use crate::listed::problems::Problems;
use crate::open_call::live_lane::UpstreamChannels;
use crate::open_call::open_calls::OpenCalls;
use crate::open_call::queued_chunks::ChunkRoom;
use crate::server_input::text::single_line;
use crate::transport::{KnownFailure, known_failure};
use platform::clock::Clock;
use platform::sync::Mutex;
use plugins::catalog::ListedItem;
use plugins::offer::PluginTool;
use rmcp::service::{Peer, RoleClient, ServiceError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Why a server is not connected before the first attempt has failed.
pub(crate) const CONNECTING: &str = "it is being connected";

/// How long a call that goes on after a restart waits for its server.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct UpstreamShared {
    pub(crate) settings: UpstreamSettings,
    pub(crate) offer: ToolOffer,
    pub(crate) handler: Arc<dyn AgentHandler>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) open_calls: Arc<OpenCalls>,
    pub(crate) chunk_room: ChunkRoom,
    pub(crate) connection_state: Mutex<ConnectionState>,
    pub(crate) known_definitions: KnownDefinitions,
    /// Counts changes of the tools and of the connection.
    pub(crate) changes: watch::Sender<u64>,
    /// Lists that the server has changed.
    pub(crate) changed_lists: ChangedLists,
    pub(crate) watched: Mutex<BTreeSet<String>>,
    /// Requests a new subscription, after `watched` has changed.
    pub(crate) resubscribe: Notify,
    pub(crate) stop: CancellationToken,
}

#[derive(Default)]
pub(crate) struct ConnectionState {
    pub(crate) connection: Option<Arc<ServerConnection>>,
    /// The tools that the server listed last. They stay while it is reconnected, and calls of them report that. None: nothing
    /// yet.
    pub(crate) tools: Option<Arc<Vec<Arc<PluginTool>>>>,
    /// What else the server listed last. It stays as well.
    pub(crate) items: Arc<ListedItems>,
    /// Whether the server last declared that it has resources.
    pub(crate) has_resources: bool,
    /// The problems of the last lists, which were logged.
    pub(crate) problems: BTreeMap<ListKind, Problems>,
    /// Why the server is not connected; none before the first attempt has failed.
    pub(crate) reason: Option<String>,
}

impl ConnectionState {
    pub(crate) fn keep_items(&mut self, kind: ListKind, items: Vec<Arc<ListedItem>>) {
        let mut all = ListedItems::clone(&self.items);
        if let Some(list) = all.list_mut(kind) {
            *list = items;
        }
        self.items = Arc::new(all);
    }
}

pub(crate) struct ServerConnection {
    pub(crate) peer: Peer<RoleClient>,
    /// The server speaks 2026-07-28 or later.
    pub(crate) modern: bool,
    /// The server may make tasks of calls.
    pub(crate) has_tasks: bool,
    pub(crate) channels: Arc<UpstreamChannels>,
    /// Cancelled when the connection is lost.
    pub(crate) lost: CancellationToken,
    pub(crate) check_requested: Notify,
}

impl ServerConnection {
    /// Requests a check whether the server still answers, after a request was lost.
    pub(crate) fn check_alive(&self) {
        self.check_requested.notify_one();
    }
}

impl UpstreamShared {
    pub(crate) fn connection_state(&self) -> MutexGuard<'_, ConnectionState> {
        self.connection_state.lock()
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(crate) fn connection(&self) -> Result<Arc<ServerConnection>, UpstreamError> {
        let state = self.connection_state();
        let reason = || state.reason.clone().unwrap_or_else(|| CONNECTING.to_owned());
        let missing = || UpstreamError::NotConnected { server: self.name().to_owned(), reason: reason() };
        state.connection.clone().ok_or_else(missing)
    }

    /// Waits while the server is not connected, for a limited time.
    pub(crate) async fn wait_until_connected(&self) {
        let mut changes = self.changes.subscribe();
        let connected =
            async { while self.connection_state().connection.is_none() && changes.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(PATIENCE, connected).await;
    }

    pub(crate) fn tools(&self) -> Arc<Vec<Arc<PluginTool>>> {
        self.connection_state().tools.clone().unwrap_or_default()
    }

    pub(crate) fn tool(&self, name: &str) -> Result<Arc<PluginTool>, UpstreamError> {
        let missing = || UpstreamError::UnknownTool { server: self.name().to_owned(), tool: single_line(name) };
        self.tools().iter().find(|tool| tool.tool.name == name).cloned().ok_or_else(missing)
    }

    /// The server reports that a list has changed. Tools are read again in any case, other lists only if the handler passes
    /// them on.
    pub(crate) fn list_changed(&self, kind: ListKind) {
        let passes_on = self.handler.passes_on_items();
        match kind {
            ListKind::Tools => self.changed_lists.add(&[ListKind::Tools]),
            ListKind::Resources | ListKind::Templates if passes_on => {
                self.changed_lists.add(&[ListKind::Resources, ListKind::Templates]);
            }
            ListKind::Prompts if passes_on => self.changed_lists.add(&[ListKind::Prompts]),
            ListKind::Resources | ListKind::Templates => {
                self.handler.on_changed(self.name(), Changed::List("resources"))
            }
            ListKind::Prompts => self.handler.on_changed(self.name(), Changed::List("prompts")),
        }
    }

    /// Its tools were read again.
    pub(crate) fn tools_changed(&self) {
        self.handler.on_changed(self.name(), Changed::List("tools"));
    }

    pub(crate) fn watched(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.watched.lock()
    }

    /// Passes on that a watched resource has changed. Ignores resources that are not watched.
    pub(crate) fn resource_updated(&self, uri: &str) {
        if self.watched().contains(uri) {
            self.handler.on_changed(self.name(), Changed::Resource(uri));
        }
    }

    pub(crate) fn to_upstream_error(&self, error: ServiceError) -> UpstreamError {
        let server = self.name().to_owned();
        match error {
            ServiceError::McpError(error) if error.code.0 == UNREADABLE => {
                UpstreamError::Malformed { server, what: single_line(&error.message) }
            }
            ServiceError::McpError(error) => {
                UpstreamError::Refused { server, code: error.code.0, message: single_line(&error.message) }
            }
            ServiceError::Cancelled { .. } => UpstreamError::Cancelled,
            ServiceError::UnexpectedResponse => {
                UpstreamError::Malformed { server, what: "something that is no result".into() }
            }
            ServiceError::TransportSend(error) => match known_failure(&*error.error) {
                Some(KnownFailure::NotSent(reason)) => {
                    UpstreamError::NotConnected { server, reason: single_line(&reason) }
                }
                Some(KnownFailure::Answered(what)) => UpstreamError::Malformed { server, what: single_line(&what) },
                None => {
                    tracing::debug!(server, "request lost: {error}");
                    UpstreamError::Lost { server }
                }
            },
            other => {
                tracing::debug!(server, "request lost: {other}");
                UpstreamError::Lost { server }
            }
        }
    }

    /// Runs a request with the configured timeout.
    pub(crate) async fn with_timeout<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, UpstreamError> {
        let limit = self.settings.request_timeout();
        match tokio::time::timeout(limit, work).await {
            Ok(result) => result.map_err(|error| self.to_upstream_error(error)),
            Err(_) => Err(UpstreamError::Timeout { server: self.name().to_owned(), limit }),
        }
    }
}
