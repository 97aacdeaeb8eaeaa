//! A server that this process is a client of: connected, and connected again when it was lost.
#![allow(
    deprecated,
    reason = "sampling, roots, logging and legacy subscriptions are deprecated in the protocol, and servers still use them"
)]

mod call;
mod caller;
mod declare;
mod ear;
mod error;
pub mod face;
pub mod gateway;
mod keeper;
mod link;
mod live;
mod offer;
mod open;
mod pinned;
mod questions;
mod rounds;
mod settings;
mod tap;
mod tools;
mod voice;

pub use call::{Call, Called};
pub use caller::UpstreamTools;
pub use error::UpstreamError;
pub use face::{Asker, Face, Heard, ToolRequest, Verdict};
pub use offer::Offer;
pub use settings::{Era, UpstreamSettings};

use open::OpenCalls;
use platform::clock::Clock;
use plugins::registry::PluginTool;
use rmcp::model::{
    ClientRequest, CustomRequest, ReadResourceRequestParams, ReadResourceResponse, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use runtime::imports::{EmbeddedResource, ResourceBody};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// Whoever calls a server from a reverse call of that very server: its name, and the name it gave to the chain.
    static CHAIN: (String, String);
}

/// Resources of one server that are watched. Bounds what is asked of it.
const MAX_WATCHED: usize = 256;
/// One resource, in bytes.
const MAX_RESOURCE: u64 = 8 << 20;
/// Notifications of lane `live` that wait. Bounds a server that calls faster than we look.
const LIVE_QUEUE: usize = 256;

/// A server. Clones are the same.
#[derive(Clone)]
pub struct Upstream(Arc<Shared>);

pub(crate) struct Shared {
    settings: UpstreamSettings,
    offer: Offer,
    face: Arc<dyn Face>,
    clock: Arc<dyn Clock>,
    open: Arc<OpenCalls>,
    state: Mutex<State>,
    known: pinned::Known,
    /// Counts changes of the tools, and of whether the server is there.
    changes: watch::Sender<u64>,
    /// The list of tools is to be asked for again.
    refresh: Notify,
    watched: Mutex<BTreeSet<String>>,
    rewatch: Notify,
    stop: CancellationToken,
}

struct State {
    link: Option<Arc<Link>>,
    tools: Arc<Vec<Arc<PluginTool>>>,
    /// Why it is not there; none as long as nobody has tried.
    reason: Option<String>,
}

/// A connection.
struct Link {
    peer: Peer<RoleClient>,
    /// 2026-07-28 or later.
    modern: bool,
    channels: Arc<live::Channels>,
    /// Cancelled when it is lost.
    gone: CancellationToken,
    doubted: Notify,
}

impl Link {
    /// A request was lost: it is looked whether the server is there at all.
    fn doubt(&self) {
        self.doubted.notify_one();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self) -> &str {
        &self.settings.name
    }

    fn link(&self) -> Result<Arc<Link>, UpstreamError> {
        let state = self.state();
        let reason = || state.reason.clone().unwrap_or_else(|| "it is being connected".into());
        let missing = || UpstreamError::NotConnected { server: self.name().to_owned(), reason: reason() };
        state.link.clone().ok_or_else(missing)
    }

    fn tools(&self) -> Arc<Vec<Arc<PluginTool>>> {
        self.state().tools.clone()
    }

    fn tool(&self, name: &str) -> Result<Arc<PluginTool>, UpstreamError> {
        let missing = || UpstreamError::UnknownTool { server: self.name().to_owned(), tool: open::shortened(name) };
        self.tools().iter().find(|tool| tool.tool.name == name).cloned().ok_or_else(missing)
    }

    fn watched(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A resource has changed, as the server says.
    fn updated(&self, uri: &str) {
        if self.watched().contains(uri) {
            self.face.changed(self.name(), uri);
        }
    }

    fn refused(&self, error: ServiceError) -> UpstreamError {
        let server = self.name().to_owned();
        match error {
            ServiceError::McpError(error) => {
                UpstreamError::Refused { server, code: error.code.0, message: open::shortened(&error.message) }
            }
            ServiceError::UnexpectedResponse => {
                UpstreamError::Malformed { server, what: "something that is no result".into() }
            }
            _ => UpstreamError::Lost { server },
        }
    }

    /// A request within the time that one may take.
    async fn within<T>(&self, work: impl Future<Output = Result<T, ServiceError>>) -> Result<T, UpstreamError> {
        let limit = self.settings.patience();
        match tokio::time::timeout(limit, work).await {
            Ok(done) => done.map_err(|error| self.refused(error)),
            Err(_) => Err(UpstreamError::Timeout { server: self.name().to_owned(), limit }),
        }
    }
}

impl Upstream {
    /// Connects, and stays connected until it is closed: one that is lost is connected again, later and later while that
    /// fails. Does not wait; see [`Self::ready`]. Must be called inside a tokio runtime.
    pub fn connect(settings: UpstreamSettings, offer: Offer, face: Arc<dyn Face>, clock: Arc<dyn Clock>) -> Self {
        let (live, notifications) = mpsc::channel(LIVE_QUEUE);
        let shared = Arc::new(Shared {
            settings,
            offer,
            face,
            clock,
            open: OpenCalls::new(live),
            known: pinned::Known::default(),
            state: Mutex::new(State { link: None, tools: Arc::default(), reason: None }),
            changes: watch::Sender::new(0),
            refresh: Notify::new(),
            watched: Mutex::default(),
            rewatch: Notify::new(),
            stop: CancellationToken::new(),
        });
        tokio::spawn(keeper::run(shared.clone(), notifications));
        Self(shared)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// How it was configured.
    pub fn settings(&self) -> &UpstreamSettings {
        &self.0.settings
    }

    /// Waits until it is connected, or connecting has failed once.
    pub async fn ready(&self) -> Result<(), UpstreamError> {
        let mut changes = self.0.changes.subscribe();
        loop {
            let failed = {
                let state = self.0.state();
                if state.link.is_some() {
                    return Ok(());
                }
                state.reason.is_some()
            };
            if failed {
                return self.0.link().map(|_| ());
            }
            // The sender lives as long as we do.
            let _ = changes.changed().await;
        }
    }

    /// Whether it is connected now.
    pub fn is_connected(&self) -> bool {
        self.0.state().link.is_some()
    }

    /// Its tools, by their own names; none while it is not connected.
    pub fn tools(&self) -> Arc<Vec<Arc<PluginTool>>> {
        self.0.tools()
    }

    /// Changes whenever its tools do, or whether it is there.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Calls a tool. Dropping the call cancels it.
    pub async fn call(&self, call: Call) -> Result<Called, UpstreamError> {
        call::make(&self.0, call, call::Source::Own).await
    }

    /// Says something to a call that runs on it, by the id of [`super::Heard::Named`]; without one, to the only one.
    pub async fn steer(&self, call: Option<&str>, message: &str) -> Result<(), UpstreamError> {
        let link = self.0.link()?;
        let mut params = json!({ "message": message });
        if let Some(call) = call {
            params["call"] = call.into();
        }
        let request = ClientRequest::CustomRequest(CustomRequest::new("dev.portcullis/steer", Some(params)));
        self.0.within(link.peer.send_request(request)).await.map(|_| ())
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<Vec<EmbeddedResource>, UpstreamError> {
        let link = self.0.link()?;
        let server = || self.name().to_owned();
        let reading = link.peer.read_resource_once(ReadResourceRequestParams::new(uri.to_owned()));
        let ReadResourceResponse::Complete(result) = self.0.within(reading).await? else {
            let reason = "reading it would need an answer of the user".into();
            return Err(UpstreamError::Unanswered { server: server(), reason });
        };
        let malformed = |what| UpstreamError::Malformed { server: server(), what };
        let pieces =
            result.contents.into_iter().map(mcp::resource).collect::<Result<Vec<_>, _>>().map_err(malformed)?;
        let size = |piece: &EmbeddedResource| match &piece.body {
            ResourceBody::Text(text) => text.len() as u64,
            ResourceBody::Blob(bytes) => bytes.len() as u64,
        };
        match pieces.iter().map(size).sum::<u64>() {
            0..=MAX_RESOURCE => Ok(pieces),
            _ => Err(UpstreamError::TooLarge { server: server(), limit: MAX_RESOURCE }),
        }
    }

    /// Has [`Face::changed`] told when this resource changes, also after the server was lost and found.
    pub async fn watch(&self, uri: &str) -> Result<(), UpstreamError> {
        {
            let mut watched = self.0.watched();
            if watched.len() >= MAX_WATCHED && !watched.contains(uri) {
                return Err(UpstreamError::Busy { server: self.name().to_owned(), limit: MAX_WATCHED });
            }
            watched.insert(uri.to_owned());
        }
        let link = self.0.link()?;
        match link.modern {
            true => self.0.rewatch.notify_one(),
            false => self.0.within(link.peer.subscribe(SubscribeRequestParams::new(uri))).await?,
        }
        Ok(())
    }

    /// No more.
    pub async fn unwatch(&self, uri: &str) -> Result<(), UpstreamError> {
        if !self.0.watched().remove(uri) {
            return Ok(());
        }
        let link = self.0.link()?;
        match link.modern {
            true => self.0.rewatch.notify_one(),
            false => self.0.within(link.peer.unsubscribe(UnsubscribeRequestParams::new(uri))).await?,
        }
        Ok(())
    }

    /// What the server says of itself: its name and version, and how to use it, bounded and printable.
    pub fn introduction(&self) -> Option<(String, String)> {
        let link = self.0.link().ok()?;
        let info = link.peer.peer_info()?;
        let name = info.server_info.as_ref().map(|server| format!("{} {}", server.name, server.version));
        let version = info.protocol_version.as_str();
        Some((open::shortened(&name.unwrap_or_default()), version.to_owned()))
    }

    /// Whether the server lists an extension.
    pub fn has_extension(&self, id: &str) -> bool {
        let link = self.0.link();
        let info = link.ok().and_then(|link| link.peer.peer_info());
        info.and_then(|info| info.capabilities.extensions.clone()).is_some_and(|all| all.contains_key(id))
    }

    /// Ends the connection, and waits until it has ended.
    pub async fn close(&self) {
        self.0.stop.cancel();
        let mut changes = self.0.changes.subscribe();
        while self.is_connected() {
            let _ = changes.changed().await;
        }
    }
}

/// A value of an extension's settings.
fn setting(capabilities: &rmcp::model::ServerCapabilities, id: &str) -> Value {
    let settings = capabilities.extensions.as_ref().and_then(|all| all.get(id));
    settings.map(|settings| Value::Object(settings.clone())).unwrap_or_default()
}
