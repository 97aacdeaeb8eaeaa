//! Lane `live`: requests that we leave open, on which a server's calls come as notifications.
//!
//! A call has a channel of its own for as long as it runs, so that it is never in doubt which call a reverse call belongs
//! to; channels are used again.

use super::offer::{self, Wanted};
use super::open::OpenCall;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::{Peer, RoleClient};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How the notifications of this lane begin.
pub(super) const PREFIX: &str = "notifications/dev.portcullis/reverse_";
/// Channels to one server; calls beyond use another lane.
const MAX_CHANNELS: usize = 8;
/// Reverse calls of one channel under way. Bounds what a server can make us start.
const MAX_SERVED: usize = 64;
/// Until a server has said that it listens.
const OPENING: Duration = Duration::from_secs(5);

/// The channels to one server.
pub(super) struct Channels {
    peer: Peer<RoleClient>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The server has the lane, and it works.
    usable: bool,
    open: usize,
    free: Vec<String>,
    opening: HashMap<String, oneshot::Sender<()>>,
    calls: HashMap<String, Arc<OpenCall>>,
    served: HashMap<(String, String), CancellationToken>,
}

/// A channel for one call; free for others when it is dropped.
pub(super) struct Channel {
    channels: Arc<Channels>,
    name: String,
}

impl Channel {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        let mut state = self.channels.state();
        if state.calls.remove(&self.name).is_some() {
            let name = std::mem::take(&mut self.name);
            state.free.push(name);
        }
    }
}

impl Channels {
    pub(super) fn new(peer: Peer<RoleClient>, usable: bool) -> Arc<Self> {
        Arc::new(Self { peer, state: Mutex::new(State { usable, ..State::default() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A channel for a call, if there is one.
    pub(super) async fn take(self: &Arc<Self>, call: &Arc<OpenCall>) -> Option<Channel> {
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
        Some(Channel { channels: self.clone(), name })
    }

    async fn open(self: &Arc<Self>) -> Option<String> {
        let name = format!("{:032x}", u128::from_le_bytes(mcp::random::<16>().ok()?));
        let (ready, listening) = oneshot::channel();
        self.state().opening.insert(name.clone(), ready);
        let request = CustomRequest::new("dev.portcullis/reverse/listen", Some(json!({ "channel": name })));
        let (channels, of) = (self.clone(), name.clone());
        tokio::spawn(async move {
            // It ends when the server stops, or the connection does.
            let _ = channels.peer.send_request(ClientRequest::CustomRequest(request)).await;
            let mut state = channels.state();
            state.open -= 1;
            state.opening.remove(&of);
            state.free.retain(|free| *free != of);
            state.calls.remove(&of);
        });
        match tokio::time::timeout(OPENING, listening).await {
            Ok(Ok(())) => Some(name),
            _ => {
                tracing::debug!("a server that says it has lane `live` does not open a channel");
                self.state().usable = false;
                None
            }
        }
    }

    /// A notification of the lane.
    pub(super) fn hears(self: &Arc<Self>, method: &str, params: Value) {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let (channel, id) = (text("channel"), text("callId"));
        match method.strip_prefix(PREFIX) {
            Some("listening") => {
                if let Some(ready) = self.state().opening.remove(&channel) {
                    // Whoever waited may be gone.
                    let _ = ready.send(());
                }
            }
            Some("cancelled") => {
                if let Some(token) = self.state().served.remove(&(channel, id)) {
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
            let under_way = state.served.keys().filter(|(of, _)| *of == channel).count();
            if under_way >= MAX_SERVED || state.served.contains_key(&key) {
                return;
            }
            let Some(call) = state.calls.get(&channel).cloned() else { return };
            state.served.insert(key.clone(), token.clone());
            call
        };
        let channels = self.clone();
        tokio::spawn(async move {
            let serving = async {
                match serde_json::from_value::<Wanted>(params) {
                    Ok(wanted) => offer::serve(&call, wanted).await,
                    Err(error) => offer::Outcome::Error("failed", format!("it is no call: {error}")),
                }
            };
            let served = token.run_until_cancelled(serving).await;
            channels.state().served.remove(&key);
            // What was withdrawn needs no answer.
            let Some(outcome) = served else { return };
            let mut answer = json!({ "channel": channel, "callId": id });
            match outcome {
                offer::Outcome::Result(result) => answer["result"] = result,
                offer::Outcome::Error(code, message) => answer["error"] = json!({ "code": code, "message": message }),
            }
            let request = CustomRequest::new("dev.portcullis/reverse/respond", Some(answer));
            if let Err(error) = channels.peer.send_request(ClientRequest::CustomRequest(request)).await {
                tracing::debug!(%error, "the answer to a reverse call was not taken");
            }
        });
    }
}
