//! Channels that clients opened for reverse calls.
//!
//! A channel belongs to the principal that opened it and lasts as long as its listen request. It queues the messages for
//! the client: a client that does not read blocks only its own calls, and a call that is cancelled before it was sent is
//! never sent.

use crate::client_tools::is_channel_name;
use platform::random::random_text;
use platform::sync::Mutex;
use policy::Principal;
use protocol::names::{REVERSE_CALL_NOTIFICATION, REVERSE_CANCELLED_NOTIFICATION};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Channels of one principal. Each holds a request open; the bound stops a client that never closes any.
pub(super) const MAX_PER_PRINCIPAL: usize = 256;
/// Channels of all principals together.
const MAX_CHANNELS: usize = 4_096;
/// Calls that wait on one channel. Bounds the memory for a client that opens a channel and never answers.
pub(super) const MAX_WAITING_CALLS: usize = 256;

/// The open channels of a process, by principal and name. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct LiveChannels(Arc<Mutex<ChannelMap>>);

type ChannelMap = HashMap<Principal, HashMap<String, LiveChannel>>;

/// Why a call has no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelError {
    /// The channel is not open, or was closed during the call.
    Closed,
    /// The limit of waiting calls, which is reached.
    Full(usize),
    Timeout,
}

#[derive(Default)]
pub(super) struct LiveChannel {
    pub(super) outbox: VecDeque<ChannelMessage>,
    message_queued: Arc<Notify>,
    /// The waiting calls by their id.
    waiting: HashMap<String, WaitingAnswer>,
}

struct WaitingAnswer {
    answer: oneshot::Sender<Value>,
    /// Whether the client has received the call.
    sent: bool,
}

/// A message for the client.
pub(super) enum ChannelMessage {
    Call { id: String, fields: Value },
    Cancelled { id: String, reason: &'static str },
}

impl LiveChannels {
    pub(crate) fn is_open(&self, principal: &Principal, channel: &str) -> bool {
        self.lock().get(principal).is_some_and(|own| own.contains_key(channel))
    }

    /// Sends a call and waits for its outcome: a `CallToolResult`, or `{"error": ...}`. After a timeout, or when the future is
    /// dropped, the client is notified that the call is cancelled.
    pub(crate) async fn call(
        &self,
        principal: &Principal,
        channel: &str,
        fields: Value,
        timeout: Duration,
    ) -> Result<Value, ChannelError> {
        let (mut call, answer) = self.queue_call(principal, channel, fields)?;
        match tokio::time::timeout(timeout, answer).await {
            Ok(outcome) => outcome.map_err(|_| ChannelError::Closed),
            Err(_) => {
                call.cancel_reason = "timeout";
                Err(ChannelError::Timeout)
            }
        }
    }

    pub(super) fn queue_call(
        &self,
        principal: &Principal,
        channel: &str,
        fields: Value,
    ) -> Result<(WaitingReverseCall, oneshot::Receiver<Value>), ChannelError> {
        let id = random_text::<16>().map_err(|error| {
            tracing::error!(%error, "no random bytes for the id of a reverse call");
            ChannelError::Closed
        })?;
        let mut all = self.lock();
        let open = all.get_mut(principal).and_then(|own| own.get_mut(channel)).ok_or(ChannelError::Closed)?;
        if open.waiting.len() >= MAX_WAITING_CALLS {
            return Err(ChannelError::Full(MAX_WAITING_CALLS));
        }
        let (answer, outcome) = oneshot::channel();
        open.waiting.insert(id.clone(), WaitingAnswer { answer, sent: false });
        open.queue(ChannelMessage::Call { id: id.clone(), fields });
        drop(all);
        let (principal, channel) = (principal.clone(), channel.to_owned());
        Ok((WaitingReverseCall { channels: self.clone(), principal, channel, id, cancel_reason: "cancelled" }, outcome))
    }

    /// Opens a channel; it closes when the stream is dropped.
    pub(super) fn open(&self, principal: &Principal, name: &str) -> Result<ChannelStream, ErrorData> {
        let refused = |text: String| Err(ErrorData::invalid_params(text, None));
        if !is_channel_name(name) {
            return refused("`channel` must be 22 to 128 of A-Z a-z 0-9 - _, chosen at random".into());
        }
        let mut all = self.lock();
        let (own, open) = (all.get(principal), all.values().map(HashMap::len).sum::<usize>());
        if own.is_some_and(|own| own.contains_key(name)) {
            return refused("this channel is open already; choose another name for each listen request".into());
        }
        if own.map_or(0, HashMap::len) >= MAX_PER_PRINCIPAL || open >= MAX_CHANNELS {
            let text = format!(
                "too many channels are open, {MAX_PER_PRINCIPAL} of one client or {MAX_CHANNELS} of all; close some"
            );
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, text, None));
        }
        let channel = LiveChannel::default();
        let message_queued = channel.message_queued.clone();
        all.entry(principal.clone()).or_default().insert(name.to_owned(), channel);
        drop(all);
        Ok(ChannelStream {
            channels: self.clone(),
            principal: principal.clone(),
            name: name.to_owned(),
            message_queued,
        })
    }

    /// Delivers an outcome to the call that waits for it.
    pub(super) fn answer(
        &self,
        principal: &Principal,
        channel: &str,
        id: &str,
        outcome: Value,
    ) -> Result<(), ErrorData> {
        let mut all = self.lock();
        let open = all.get_mut(principal).and_then(|own| own.get_mut(channel));
        let waiting = open.and_then(|open| open.waiting.remove(id));
        let delivered = waiting.is_some_and(|waiting| waiting.answer.send(outcome).is_ok());
        // One message for all cases, so that nobody learns which calls others have.
        let unknown = || ErrorData::invalid_params("no such call waits on this channel", None);
        delivered.then_some(()).ok_or_else(unknown)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ChannelMap> {
        self.0.lock()
    }
}

impl LiveChannel {
    fn queue(&mut self, message: ChannelMessage) {
        self.outbox.push_back(message);
        self.message_queued.notify_one();
    }

    fn cancel(&mut self, id: &str, reason: &'static str) {
        match self.waiting.remove(id) {
            // The call was answered already.
            None => {}
            Some(WaitingAnswer { sent: true, .. }) => {
                self.queue(ChannelMessage::Cancelled { id: id.to_owned(), reason })
            }
            Some(_) => self.outbox.retain(|it| !matches!(it, ChannelMessage::Call { id: queued, .. } if queued == id)),
        }
    }

    fn take(&mut self) -> Option<ChannelMessage> {
        let message = self.outbox.pop_front()?;
        if let ChannelMessage::Call { id, .. } = &message
            && let Some(waiting) = self.waiting.get_mut(id)
        {
            waiting.sent = true;
        }
        Some(message)
    }
}

/// A call that waits for its answer. Dropping it cancels the call, unless it was answered.
pub(super) struct WaitingReverseCall {
    channels: LiveChannels,
    principal: Principal,
    channel: String,
    id: String,
    cancel_reason: &'static str,
}

impl Drop for WaitingReverseCall {
    fn drop(&mut self) {
        let mut all = self.channels.lock();
        if let Some(open) = all.get_mut(&self.principal).and_then(|own| own.get_mut(&self.channel)) {
            open.cancel(&self.id, self.cancel_reason);
        }
    }
}

/// The messages of one channel. Dropping it closes the channel and fails the calls that wait on it.
pub(super) struct ChannelStream {
    channels: LiveChannels,
    principal: Principal,
    name: String,
    message_queued: Arc<Notify>,
}

impl ChannelStream {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the next notification: its method and parameters.
    pub(super) async fn next(&self) -> (&'static str, Value) {
        loop {
            let message = {
                let mut all = self.channels.lock();
                all.get_mut(&self.principal).and_then(|own| own.get_mut(&self.name)).and_then(LiveChannel::take)
            };
            match message {
                Some(message) => return self.to_notification(message),
                // A message that was queued since the check left a permit.
                None => self.message_queued.notified().await,
            }
        }
    }

    fn to_notification(&self, message: ChannelMessage) -> (&'static str, Value) {
        match message {
            ChannelMessage::Call { id, fields } => {
                let mut params = json!({ "channel": self.name, "callId": id });
                if let (Value::Object(params), Value::Object(fields)) = (&mut params, fields) {
                    params.extend(fields);
                }
                (REVERSE_CALL_NOTIFICATION, params)
            }
            ChannelMessage::Cancelled { id, reason } => {
                (REVERSE_CANCELLED_NOTIFICATION, json!({ "channel": self.name, "callId": id, "reason": reason }))
            }
        }
    }
}

impl Drop for ChannelStream {
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
