//! One server behind this host: the handle to its connection.

use crate::api::call::{CallSource, UpstreamCall, UpstreamResult};
use crate::api::error::UpstreamError;
use crate::api::handler::AgentHandler;
use crate::api::offer::ToolOffer;
use crate::api::settings::UpstreamSettings;
use crate::calls::invoke::call_tool;
use crate::connection::reconnect;
use crate::connection::shared::{CONNECTING, UpstreamShared};
use crate::listed::definitions::KnownDefinitions;
use crate::listed::list_kind::ChangedLists;
use crate::listed::listed_item::ListedItems;
use crate::listed::problems::Problems;
use crate::open_call::open_calls::OpenCalls;
use crate::open_call::queued_chunks::ChunkRoom;
use crate::server_input::line_rate::LineRate;
use crate::server_input::text::single_line;
use platform::clock::Clock;
use platform::sync::Mutex;
use plugins::offer::PluginTool;
use rmcp::model::{
    ClientRequest, CustomRequest, ReadResourceRequestParams, ReadResourceResponse, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use runtime::imports::{EmbeddedResource, ResourceBody};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Watched resources of one server. Bounds the size of one subscription request.
pub(super) const MAX_WATCHED: usize = 256;
/// Size of one resource, in bytes. Bounds what a server makes us keep.
const MAX_RESOURCE: u64 = 8 << 20;
/// Queued notifications of lane `live`. Bounds a server that calls faster than we read.
const LIVE_QUEUE: usize = 256;

/// A server behind this host. Clones share one connection.
#[derive(Clone)]
pub struct Upstream(pub(super) Arc<UpstreamShared>);

impl Upstream {
    /// Connects in the background and reconnects with growing delays until [`Self::close`]. Returns at once; see
    /// [`Self::ready`]. The first attempt waits for `offered`, since some servers are sent the offered tools only once. Must be
    /// called inside a tokio runtime.
    pub fn connect(
        settings: UpstreamSettings,
        offer: ToolOffer,
        offered: impl Future<Output = ()> + Send + 'static,
        handler: Arc<dyn AgentHandler>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (live, notifications) = mpsc::channel(LIVE_QUEUE);
        let messages = LineRate::new(clock.clone(), &settings.name, "log messages of the server");
        let shared = Arc::new(UpstreamShared {
            settings,
            offer,
            handler,
            clock,
            open_calls: OpenCalls::new(live, messages),
            chunk_room: ChunkRoom::default(),
            known_definitions: KnownDefinitions::default(),
            connection_state: Mutex::default(),
            changes: watch::Sender::new(0),
            changed_lists: ChangedLists::default(),
            watched: Mutex::default(),
            resubscribe: Notify::new(),
            stop: CancellationToken::new(),
        });
        let connected = shared.clone();
        tokio::spawn(async move {
            connected.stop.run_until_cancelled(offered).await;
            reconnect::run(connected, notifications).await;
        });
        Self(shared)
    }

    pub fn name(&self) -> &str {
        self.0.name()
    }

    pub fn settings(&self) -> &UpstreamSettings {
        &self.0.settings
    }

    /// Waits until the server is connected or connecting has failed once.
    pub async fn ready(&self) -> Result<(), UpstreamError> {
        let mut changes = self.0.changes.subscribe();
        loop {
            let failed = {
                let state = self.0.connection_state();
                if state.connection.is_some() {
                    return Ok(());
                }
                state.reason.is_some()
            };
            if failed {
                return self.0.connection().map(|_| ());
            }
            // Cannot fail: `self` keeps the sender alive.
            let _ = changes.changed().await;
        }
    }

    pub fn is_connected(&self) -> bool {
        self.0.connection_state().connection.is_some()
    }

    /// The tools that the server listed last, also while it is not connected.
    pub fn tools(&self) -> Arc<Vec<Arc<PluginTool>>> {
        self.0.tools()
    }

    /// The resources, templates and prompts that it listed last.
    pub(super) fn items(&self) -> Arc<ListedItems> {
        self.0.connection_state().items.clone()
    }

    /// Whether it last declared that it has resources.
    pub(super) fn has_resources(&self) -> bool {
        self.0.connection_state().has_resources
    }

    /// Whether it is connected and declares that it reports changed resources.
    pub(super) fn can_watch(&self) -> bool {
        let info = self.0.connection().ok().and_then(|connection| connection.peer.peer_info());
        info.and_then(|info| info.capabilities.resources.as_ref()?.subscribe).unwrap_or_default()
    }

    /// Sentences about entries of its last lists that are not used.
    pub fn left_out(&self) -> Vec<String> {
        self.0.connection_state().problems.values().flat_map(Problems::lost).collect()
    }

    /// Why it cannot be called and has no tools: it has not been connected yet.
    pub fn missing(&self) -> Option<String> {
        let state = self.0.connection_state();
        state.tools.is_none().then(|| state.reason.clone().unwrap_or_else(|| CONNECTING.to_owned()))
    }

    /// Changes when the tools change or the connection is made or lost.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Calls a tool. Dropping the call cancels it, unless it has become a task.
    pub async fn call(&self, call: UpstreamCall) -> Result<UpstreamResult, UpstreamError> {
        call_tool(&self.0, call, CallSource::Agent).await.0
    }

    /// Sends a message to a running call, by the id from [`crate::UpstreamCallEvent::CallId`]; without an id, to the only call.
    pub async fn steer(&self, call: Option<&str>, message: &str) -> Result<(), UpstreamError> {
        let connection = self.0.connection()?;
        let mut params = json!({ "message": message });
        if let Some(call) = call {
            params["call"] = call.into();
        }
        let request = ClientRequest::CustomRequest(CustomRequest::new(protocol::names::STEER_METHOD, Some(params)));
        self.0.with_timeout(connection.peer.send_request(request)).await.map(|_| ())
    }

    pub async fn read(&self, uri: &str) -> Result<Vec<EmbeddedResource>, UpstreamError> {
        let connection = self.0.connection()?;
        let server = || self.name().to_owned();
        let reading = connection.peer.read_resource_once(ReadResourceRequestParams::new(uri.to_owned()));
        let ReadResourceResponse::Complete(result) = self.0.with_timeout(reading).await? else {
            let reason = "reading the resource needs an answer from the user".into();
            return Err(UpstreamError::Unanswered { server: server(), reason });
        };
        let malformed = |what| UpstreamError::Malformed { server: server(), what };
        let pieces = result
            .contents
            .into_iter()
            .map(protocol::content::from_resource_contents)
            .collect::<Result<Vec<_>, _>>()
            .map_err(malformed)?;
        let size = |piece: &EmbeddedResource| match &piece.body {
            ResourceBody::Text(text) => text.len() as u64,
            ResourceBody::Blob(bytes) => bytes.len() as u64,
        };
        match pieces.iter().map(size).sum::<u64>() {
            0..=MAX_RESOURCE => Ok(pieces),
            _ => Err(UpstreamError::TooLarge { server: server(), limit: MAX_RESOURCE }),
        }
    }

    /// Reports changes of this resource to [`AgentHandler::on_changed`], also after a reconnect.
    pub async fn watch(&self, uri: &str) -> Result<(), UpstreamError> {
        let is_new = {
            // Inserted first, since the first change can be reported before the subscription is answered.
            let mut watched = self.0.watched();
            if watched.len() >= MAX_WATCHED && !watched.contains(uri) {
                return Err(UpstreamError::TooManyWatched { server: self.name().to_owned(), limit: MAX_WATCHED });
            }
            watched.insert(uri.to_owned())
        };
        let subscribed = self.subscribe(uri).await;
        if subscribed.is_err() && is_new {
            self.0.watched().remove(uri);
        }
        subscribed
    }

    async fn subscribe(&self, uri: &str) -> Result<(), UpstreamError> {
        let connection = self.0.connection()?;
        if connection.modern {
            self.0.resubscribe.notify_one();
            return Ok(());
        }
        self.0.with_timeout(connection.peer.subscribe(SubscribeRequestParams::new(uri))).await
    }

    /// Ends [`Self::watch`].
    pub async fn unwatch(&self, uri: &str) -> Result<(), UpstreamError> {
        if !self.0.watched().remove(uri) {
            return Ok(());
        }
        let connection = self.0.connection()?;
        match connection.modern {
            true => self.0.resubscribe.notify_one(),
            false => self.0.with_timeout(connection.peer.unsubscribe(UnsubscribeRequestParams::new(uri))).await?,
        }
        Ok(())
    }

    /// The server's own name and version, bounded and printable, and the protocol version.
    pub fn introduction(&self) -> Option<(String, String)> {
        let connection = self.0.connection().ok()?;
        let info = connection.peer.peer_info()?;
        let name = info.server_info.as_ref().map(|server| format!("{} {}", server.name, server.version));
        let version = info.protocol_version.as_str();
        Some((single_line(&name.unwrap_or_default()), version.to_owned()))
    }

    pub fn has_extension(&self, id: &str) -> bool {
        let info = self.0.connection().ok().and_then(|connection| connection.peer.peer_info());
        info.and_then(|info| info.capabilities.extensions.clone()).is_some_and(|all| all.contains_key(id))
    }

    /// Closes the connection and waits until it is closed.
    pub async fn close(&self) {
        self.0.stop.cancel();
        let mut changes = self.0.changes.subscribe();
        while self.is_connected() {
            let _ = changes.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ForwardOnly;
    use platform::clock::SystemClock;

    #[tokio::test]
    async fn what_could_not_be_subscribed_to_is_not_watched() {
        let settings = UpstreamSettings { command: vec!["/nowhere/server".into()], ..Default::default() };
        let settings = settings.with_name("far", vec![]).unwrap();
        let upstream = Upstream::connect(
            settings,
            ToolOffer::none(),
            std::future::ready(()),
            Arc::new(ForwardOnly::default()),
            Arc::new(SystemClock),
        );
        assert!(upstream.ready().await.is_err());
        for attempt in 0..=MAX_WATCHED {
            let refused = upstream.watch(&format!("file:///{attempt}")).await;
            assert!(matches!(refused, Err(UpstreamError::NotConnected { .. })), "{refused:?}");
        }
        assert!(upstream.0.watched().is_empty());
        // Another caller still watches it.
        upstream.0.watched().insert("file:///kept".into());
        assert!(upstream.watch("file:///kept").await.is_err());
        assert!(upstream.0.watched().contains("file:///kept"));
        upstream.close().await;
    }
}
