//! Lane `live`: long-running requests, called channels, on which a server sends reverse calls as notifications.
//!
//! Each running call has a channel of its own, so that every reverse call belongs to exactly one call. Channels are
//! reused.

use crate::open_call::open_calls::OpenCall;
use crate::open_call::reverse::serve_reverse_call;
use crate::open_call::reverse_calls::{LIVE_PREFIX, ReverseCallOutcome, ReverseCallParams, ServedIn};
use platform::random::random_text;
use platform::sync::Mutex;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::{Peer, RoleClient};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Channels to one server. Calls without a channel use another lane.
const MAX_CHANNELS: usize = 8;
/// Running reverse calls of one channel. Bounds what a server can make us start.
const MAX_RUNNING: usize = 64;
/// Time for the server to confirm a new channel.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The channels to one server.
pub(crate) struct UpstreamChannels {
    peer: Peer<RoleClient>,
    state: Mutex<UpstreamChannelState>,
}

#[derive(Default)]
struct UpstreamChannelState {
    /// The server supports the lane, and opening a channel has not failed.
    usable: bool,
    open: usize,
    free: Vec<String>,
    opening: HashMap<String, oneshot::Sender<()>>,
    calls: HashMap<String, Arc<OpenCall>>,
    running: HashMap<(String, String), CancellationToken>,
}

/// A channel for one call. Free for another call when dropped.
pub(crate) struct UpstreamChannel {
    channels: Arc<UpstreamChannels>,
    name: String,
}

impl UpstreamChannel {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for UpstreamChannel {
    fn drop(&mut self) {
        let mut state = self.channels.state();
        if state.calls.remove(&self.name).is_some() {
            let name = std::mem::take(&mut self.name);
            state.free.push(name);
        }
    }
}

impl UpstreamChannels {
    pub(crate) fn new(peer: Peer<RoleClient>, usable: bool) -> Arc<Self> {
        Arc::new(Self { peer, state: Mutex::new(UpstreamChannelState { usable, ..UpstreamChannelState::default() }) })
    }

    fn state(&self) -> MutexGuard<'_, UpstreamChannelState> {
        self.state.lock()
    }

    /// Takes a free channel for a call or opens a new one.
    pub(crate) async fn acquire(self: &Arc<Self>, call: &Arc<OpenCall>) -> Option<UpstreamChannel> {
        let name = {
            let mut state = self.state();
            if !state.usable {
                return None;
            }
            match state.free.pop() {
                Some(name) => Some(name),
                None if state.open >= MAX_CHANNELS => return None,
                None => {
                    state.open += 1;
                    None
                }
            }
        };
        let name = match name {
            Some(name) => name,
            None => self.open().await?,
        };
        self.state().calls.insert(name.clone(), call.clone());
        Some(UpstreamChannel { channels: self.clone(), name })
    }

    async fn open(self: &Arc<Self>) -> Option<String> {
        let name = random_text::<16>().ok()?;
        let (ready, listening) = oneshot::channel();
        self.state().opening.insert(name.clone(), ready);
        let request = CustomRequest::new(protocol::names::REVERSE_LISTEN_METHOD, Some(json!({ "channel": name })));
        let (channels, channel) = (self.clone(), name.clone());
        tokio::spawn(async move {
            // The request ends with the server or the connection.
            let _ = channels.peer.send_request(ClientRequest::CustomRequest(request)).await;
            let mut state = channels.state();
            state.open -= 1;
            state.opening.remove(&channel);
            state.free.retain(|free| *free != channel);
            state.calls.remove(&channel);
        });
        match tokio::time::timeout(OPEN_TIMEOUT, listening).await {
            Ok(Ok(())) => Some(name),
            _ => {
                tracing::debug!("the server declares lane `live` but does not open a channel");
                self.state().usable = false;
                None
            }
        }
    }

    pub(crate) fn on_notification(self: &Arc<Self>, method: &str, params: Value) {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let (channel, id) = (text("channel"), text("callId"));
        match method.strip_prefix(LIVE_PREFIX) {
            Some("listening") => {
                if let Some(ready) = self.state().opening.remove(&channel) {
                    // Fails if the opening has timed out.
                    let _ = ready.send(());
                }
            }
            Some("cancelled") => {
                if let Some(token) = self.state().running.remove(&(channel, id)) {
                    token.cancel();
                }
            }
            Some("call") if !id.is_empty() && id.len() <= 128 => self.serve(channel, id, params),
            _ => {}
        }
    }

    fn serve(self: &Arc<Self>, channel: String, id: String, params: Value) {
        let (key, token) = ((channel.clone(), id.clone()), CancellationToken::new());
        let call = {
            let mut state = self.state();
            let running = state.running.keys().filter(|(other, _)| *other == channel).count();
            if running >= MAX_RUNNING || state.running.contains_key(&key) {
                return;
            }
            let Some(call) = state.calls.get(&channel).cloned() else { return };
            state.running.insert(key.clone(), token.clone());
            call
        };
        let channels = self.clone();
        tokio::spawn(async move {
            let serving = async {
                match serde_json::from_value::<ReverseCallParams>(params) {
                    Ok(params) => serve_reverse_call(&call, params, ServedIn::Task).await,
                    Err(error) => ReverseCallOutcome::Error("failed", format!("malformed reverse call: {error}")),
                }
            };
            let served = token.run_until_cancelled(serving).await;
            channels.state().running.remove(&key);
            // A withdrawn call needs no answer.
            let Some(outcome) = served else { return };
            let mut answer = json!({ "channel": channel, "callId": id });
            match outcome {
                ReverseCallOutcome::Result(result) => answer["result"] = result,
                ReverseCallOutcome::Error(code, message) => {
                    answer["error"] = json!({ "code": code, "message": message })
                }
            }
            let request = CustomRequest::new(protocol::names::REVERSE_RESPOND_METHOD, Some(answer));
            if let Err(error) = channels.peer.send_request(ClientRequest::CustomRequest(request)).await {
                tracing::debug!(%error, "the server did not accept the answer to a reverse call");
            }
        });
    }
}
