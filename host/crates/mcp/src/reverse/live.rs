//! Lane `live`: reverse calls on a stream that the client opened beforehand, answered with requests of its own.
//!
//! A channel belongs to the principal that opened it and lasts as long as its request. It keeps what waits to be sent:
//! a client that does not read holds up its own calls and nothing else, and a call that is given up before it was sent
//! never is.

use super::declared::is_channel;
use crate::seal::random;
use crate::server::Shared;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CustomNotification, ErrorCode, ServerNotification};
use rmcp::service::{OriginatingRequestId, RequestContext, RoleServer, ServiceError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Channels of one principal. Each holds a request open: bounds what a client that never closes any takes.
const MAX_OWN: usize = 256;
/// Channels of all principals. Bounds what many of them can take together.
const MAX_ALL: usize = 4_096;
/// Calls that wait on one channel. Bounds what is kept for a client that opens one and never answers.
const MAX_WAITING: usize = 256;
const LISTENING: &str = "notifications/dev.portcullis/reverse_listening";
const CALL: &str = "notifications/dev.portcullis/reverse_call";
const CANCELLED: &str = "notifications/dev.portcullis/reverse_cancelled";

/// Parameters of `dev.portcullis/reverse/listen`.
#[derive(Deserialize)]
pub(crate) struct Listen {
    channel: String,
}

/// Parameters of `dev.portcullis/reverse/respond`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Respond {
    channel: String,
    call_id: String,
    result: Option<Value>,
    error: Option<Value>,
}

/// Why a call has no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The channel is not open, or was closed while the call waited.
    Closed,
    /// As many calls as may wait on the channel do already.
    Full(usize),
    /// No answer in time; the client was told.
    Timeout,
}

/// The open channels of a process. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Channels(Arc<Mutex<HashMap<Principal, HashMap<String, Channel>>>>);

#[derive(Default)]
struct Channel {
    outbox: VecDeque<Said>,
    news: Arc<Notify>,
    waiting: HashMap<String, Waiting>,
}

struct Waiting {
    answer: oneshot::Sender<Value>,
    /// The client knows of it.
    sent: bool,
}

/// Something for the client.
enum Said {
    Call { id: String, fields: Value },
    Cancelled { id: String, reason: &'static str },
}

impl Channels {
    /// Whether a call of this principal could go over this channel right now.
    pub(crate) fn is_open(&self, principal: &Principal, channel: &str) -> bool {
        self.lock().get(principal).is_some_and(|own| own.contains_key(channel))
    }

    /// Makes a call and waits for its outcome: a `CallToolResult`, or `{"error": ...}`. Once nobody waits any more, in
    /// time or because this is dropped, the client is told.
    pub(crate) async fn call(
        &self,
        principal: &Principal,
        channel: &str,
        fields: Value,
        patience: Duration,
    ) -> Result<Value, Lost> {
        let (mut call, answer) = self.begin(principal, channel, fields)?;
        match tokio::time::timeout(patience, answer).await {
            Ok(outcome) => outcome.map_err(|_| Lost::Closed),
            Err(_) => {
                call.reason = "timeout";
                Err(Lost::Timeout)
            }
        }
    }

    fn begin(
        &self,
        principal: &Principal,
        channel: &str,
        fields: Value,
    ) -> Result<(Call, oneshot::Receiver<Value>), Lost> {
        let id = random_id().ok_or(Lost::Closed)?;
        let mut all = self.lock();
        let open = all.get_mut(principal).and_then(|own| own.get_mut(channel)).ok_or(Lost::Closed)?;
        if open.waiting.len() >= MAX_WAITING {
            return Err(Lost::Full(MAX_WAITING));
        }
        let (answer, outcome) = oneshot::channel();
        open.waiting.insert(id.clone(), Waiting { answer, sent: false });
        open.say(Said::Call { id: id.clone(), fields });
        drop(all);
        let (principal, channel) = (principal.clone(), channel.to_owned());
        Ok((Call { channels: self.clone(), principal, channel, id, reason: "cancelled" }, outcome))
    }

    /// Opens a channel, until what this gives is dropped.
    fn open(&self, principal: &Principal, name: &str) -> Result<Stream, ErrorData> {
        let refused = |text: String| Err(ErrorData::invalid_params(text, None));
        if !is_channel(name) {
            return refused("`channel` must be 22 to 128 of A-Z a-z 0-9 - _, chosen at random".into());
        }
        let mut all = self.lock();
        let (own, open) = (all.get(principal), all.values().map(HashMap::len).sum::<usize>());
        if own.is_some_and(|own| own.contains_key(name)) {
            return refused("this channel is open already; choose another name for each listen request".into());
        }
        if own.map_or(0, HashMap::len) >= MAX_OWN || open >= MAX_ALL {
            let text = format!("too many channels are open, {MAX_OWN} of one client or {MAX_ALL} of all; close some");
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, text, None));
        }
        let channel = Channel::default();
        let news = channel.news.clone();
        all.entry(principal.clone()).or_default().insert(name.to_owned(), channel);
        drop(all);
        Ok(Stream { channels: self.clone(), principal: principal.clone(), name: name.to_owned(), news })
    }

    /// Hands an outcome to the call that waits for it.
    fn answer(&self, principal: &Principal, channel: &str, id: &str, outcome: Value) -> Result<(), ErrorData> {
        let mut all = self.lock();
        let open = all.get_mut(principal).and_then(|own| own.get_mut(channel));
        let waiting = open.and_then(|open| open.waiting.remove(id));
        let delivered = waiting.is_some_and(|waiting| waiting.answer.send(outcome).is_ok());
        // The same words for all: nobody learns which calls others have.
        let unknown = || ErrorData::invalid_params("no such call waits on this channel", None);
        delivered.then_some(()).ok_or_else(unknown)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, HashMap<String, Channel>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel {
    fn say(&mut self, said: Said) {
        self.outbox.push_back(said);
        self.news.notify_one();
    }

    /// Nobody waits for this call any more.
    fn give_up(&mut self, id: &str, reason: &'static str) {
        match self.waiting.remove(id) {
            // It was answered.
            None => {}
            Some(Waiting { sent: true, .. }) => self.say(Said::Cancelled { id: id.to_owned(), reason }),
            Some(_) => self.outbox.retain(|said| !matches!(said, Said::Call { id: waits, .. } if waits == id)),
        }
    }

    fn take(&mut self) -> Option<Said> {
        let said = self.outbox.pop_front()?;
        if let Said::Call { id, .. } = &said
            && let Some(waiting) = self.waiting.get_mut(id)
        {
            waiting.sent = true;
        }
        Some(said)
    }
}

/// A call that waits; dropped when it does not any more.
struct Call {
    channels: Channels,
    principal: Principal,
    channel: String,
    id: String,
    reason: &'static str,
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut all = self.channels.lock();
        if let Some(open) = all.get_mut(&self.principal).and_then(|own| own.get_mut(&self.channel)) {
            open.give_up(&self.id, self.reason);
        }
    }
}

/// The wire's side of a channel. The channel is free again when this is dropped, and calls that wait on it are lost.
struct Stream {
    channels: Channels,
    principal: Principal,
    name: String,
    news: Arc<Notify>,
}

impl Stream {
    /// What is to be sent next: method and parameters.
    async fn next(&self) -> (&'static str, Value) {
        loop {
            let said = {
                let mut all = self.channels.lock();
                all.get_mut(&self.principal).and_then(|own| own.get_mut(&self.name)).and_then(Channel::take)
            };
            match said {
                Some(said) => return self.shown(said),
                // One that came since is remembered.
                None => self.news.notified().await,
            }
        }
    }

    fn shown(&self, said: Said) -> (&'static str, Value) {
        match said {
            Said::Call { id, fields } => {
                let mut params = json!({ "channel": self.name, "callId": id });
                if let (Value::Object(params), Value::Object(fields)) = (&mut params, fields) {
                    params.extend(fields);
                }
                (CALL, params)
            }
            Said::Cancelled { id, reason } => {
                (CANCELLED, json!({ "channel": self.name, "callId": id, "reason": reason }))
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut all = self.channels.lock();
        if let Some(own) = all.get_mut(&self.principal) {
            own.remove(&self.name);
            if own.is_empty() {
                all.remove(&self.principal);
            }
        }
    }
}

fn random_id() -> Option<String> {
    match random::<16>() {
        Ok(bytes) => Some(URL_SAFE_NO_PAD.encode(bytes)),
        Err(error) => {
            tracing::error!(%error, "no randomness: a reverse call cannot be named");
            None
        }
    }
}

/// `dev.portcullis/reverse/listen`: until the client goes away or the server stops.
pub(crate) async fn listen(
    server: &Shared,
    request: Listen,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let stream = server.hub.channels.open(&server.principal(context), &request.channel)?;
    let send = async |method: &str, params: Value| {
        let mut notification = CustomNotification::new(method, Some(params));
        notification.extensions.insert(OriginatingRequestId(context.id.clone()));
        context.peer.send_notification(ServerNotification::CustomNotification(notification)).await
    };
    let forward = async {
        send(LISTENING, json!({ "channel": stream.name })).await?;
        loop {
            let (method, params) = stream.next().await;
            send(method, params).await?;
        }
    };
    let broken: Result<(), ServiceError> = tokio::select! {
        broken = forward => broken,
        () = context.ct.cancelled() => Ok(()),
        () = server.stop.cancelled() => Ok(()),
    };
    if let Err(error) = broken {
        tracing::debug!(%error, "a reverse channel broke");
    }
    Ok(())
}

/// `dev.portcullis/reverse/respond`: the outcome of a call.
pub(crate) fn respond(
    server: &Shared,
    request: Respond,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let Respond { channel, call_id, result, error } = request;
    let outcome = match (result, error) {
        (Some(result @ Value::Object(_)), None) => result,
        (None, Some(error @ Value::Object(_))) => json!({ "error": error }),
        _ => {
            let text =
                "an answer has either `result`, what the tool said, or `error`, why there is none; each an object";
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    server.hub.channels.answer(&server.principal(context), &channel, &call_id, outcome)
}

#[cfg(test)]
mod tests;
