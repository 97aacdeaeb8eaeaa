//! The log of one stream: its messages, which of them are stored, and how far the client has read.

use super::message::{EncodedMessage, restore};
use platform::storage::{SessionStore, StorageError, StreamEvent, StreamKey, StreamRecord};
use platform::sync::Mutex;
use rmcp::model::ServerJsonRpcMessage;
use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

/// Unread messages that are allowed. Beyond this the call waits, so a slow or disconnected client delays only its own call.
const MAX_UNREAD: u32 = 1_024;
const MAX_UNREAD_BYTES: usize = 4 << 20;
/// How long a call waits for a client that reads nothing. After that, sending fails.
pub(super) const READER_TIMEOUT: Duration = Duration::from_secs(30);
/// Read messages that are kept for a client that lost them with its connection. Bounds the disk space of one call.
const MAX_KEPT: usize = 2_048;
const MAX_KEPT_BYTES: usize = 8 << 20;
/// Messages of the standalone stream that are kept, read or not: it never ends, and its messages are only hints.
const MAX_KEPT_STANDALONE: usize = 256;
/// Messages that are also kept in memory, so that a reader that keeps up reads nothing from disk.
const MAX_TAIL: usize = 64;
const MAX_TAIL_BYTES: usize = 256 << 10;

/// Why a message cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(in crate::transport) enum EventLogError {
    #[error("the stream is over")]
    Ended,
    #[error("nobody reads the stream")]
    Unread,
}

#[derive(Clone)]
pub(super) struct LoggedEvent {
    pub(super) number: u32,
    pub(super) message: Arc<ServerJsonRpcMessage>,
    /// False if storing failed, for instance on a full disk. The message is sent, but a client cannot resume from it.
    pub(super) stored: bool,
}

/// What a reader does next.
pub(super) enum ReaderStep {
    Send(Vec<LoggedEvent>),
    /// The next events are only in storage.
    ReadStored,
    Wait,
    /// A newer reader has replaced this one.
    Replaced,
    Ended,
}

pub(super) struct EventLog {
    pub(super) token: String,
    /// The stream belongs to the session rather than to one request.
    pub(super) standalone: bool,
    key: StreamKey,
    storage: SessionStore,
    state: Mutex<EventLogState>,
    changed: watch::Sender<()>,
}

/// Positions are numbers of events; the first event is 1.
#[derive(Default)]
struct EventLogState {
    last: u32,
    /// Storing has succeeded or failed for all events up to here.
    settled: u32,
    read: u32,
    pruned: u32,
    ended: bool,
    /// The number of the newest reader; older ones stop.
    reader: u64,
    /// The server has closed the last reader, and its client will come back for the rest.
    closed: bool,
    tail: VecDeque<(LoggedEvent, usize)>,
    tail_bytes: usize,
    /// Sizes of the kept events, from `pruned + 1` on.
    sizes: VecDeque<usize>,
    kept_bytes: usize,
    unread_bytes: usize,
}

impl EventLog {
    /// The log of a stream that was just opened, or of one that is stored.
    pub(super) fn new(storage: SessionStore, token: String, standalone: bool, record: &StreamRecord) -> Arc<Self> {
        let StreamRecord { last, pruned, ended, .. } = *record;
        // The sizes of stored events are unknown. There are few, so only their number is limited.
        let sizes = (pruned..last).map(|_| 0).collect();
        let state = EventLogState { last, settled: last, read: last, pruned, ended, sizes, ..EventLogState::default() };
        let (state, changed) = (Mutex::new(state), watch::Sender::new(()));
        Arc::new(Self { token, standalone, key: record.key, storage, state, changed })
    }

    fn state(&self) -> MutexGuard<'_, EventLogState> {
        self.state.lock()
    }

    /// Appends a message and returns its number; `end` marks the last one. Messages are stored in the background, in the
    /// order of these calls.
    pub(super) fn append(
        self: &Arc<Self>,
        message: impl Into<EncodedMessage>,
        end: bool,
    ) -> Result<u32, EventLogError> {
        let EncodedMessage { message, text: Some(text) } = message.into() else { return Err(EventLogError::Ended) };
        let mut state = self.state();
        if state.ended {
            return Err(EventLogError::Ended);
        }
        let number = state.last + 1;
        state.last = number;
        state.ended = end;
        state.add(LoggedEvent { number, message: Arc::new(message), stored: true }, text.len());
        let prune = state.prune(self.standalone);
        let log = self.clone();
        let done = move |result| log.on_stored(number, result);
        // This is done under the lock, so that the numbers reach the storage in order.
        let rejected = self.storage.append(self.key, StreamEvent { number, message: text }, end, prune, done);
        drop(state);
        // This calls `done`, which takes the lock.
        drop(rejected);
        Ok(number)
    }

    fn on_stored(&self, number: u32, result: Result<(), StorageError>) {
        let mut state = self.state();
        state.settled = number;
        if let Err(error) = result {
            tracing::error!(%error, "a message to a client cannot be stored; it is sent nevertheless");
            if let Some(event) = state.tail.iter_mut().map(|(event, _)| event).find(|event| event.number == number) {
                event.stored = false;
            }
        }
        state.trim();
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends the stream without a last message.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.ended, true) {
            // Nobody needs to wait until the end is stored.
            drop(self.storage.end_stream(self.key));
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Waits until this event is stored, or storing it has failed.
    pub(super) async fn wait_stored(&self, number: u32) {
        let mut changes = self.changed.subscribe();
        while self.state().settled < number && changes.changed().await.is_ok() {}
    }

    /// Waits until the reader is not too far behind. Fails if it reads nothing for this time.
    pub(super) async fn wait_for_reader(&self, timeout: Duration) -> Result<(), EventLogError> {
        let mut changes = self.changed.subscribe();
        let mut read = self.state().read;
        let mut timer = std::pin::pin!(tokio::time::sleep(timeout));
        while self.state().is_far_ahead() {
            tokio::select! {
                _ = changes.changed() => {}
                () = &mut timer => return Err(EventLogError::Unread),
            }
            let now = self.state().read;
            if std::mem::replace(&mut read, now) != now {
                timer.set(tokio::time::sleep(timeout));
            }
        }
        Ok(())
    }

    /// Whether all messages are read.
    pub(super) fn is_read(&self) -> bool {
        let state = self.state();
        state.read == state.last
    }

    /// Attaches a reader, which replaces older ones. Returns its number, and the position up to which they have read.
    pub(super) fn attach_reader(&self) -> (u64, u32) {
        let mut state = self.state();
        state.reader += 1;
        let attached = (state.reader, state.read);
        drop(state);
        self.changed.send_replace(());
        attached
    }

    /// Records that a reader ends because the server closes its connection.
    pub(super) fn set_closed(&self) {
        self.state().closed = true;
    }

    /// Whether the server has closed the last reader. Resets this.
    pub(super) fn take_closed(&self) -> bool {
        std::mem::take(&mut self.state().closed)
    }

    /// Marks all events up to this one as read, since the client has sent this number.
    pub(super) fn mark_resumed_after(&self, number: u32) {
        self.state().mark_read(number);
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Whether a client can resume after this event.
    pub(super) fn can_resume_after(&self, number: u32) -> bool {
        let state = self.state();
        (state.pruned..=state.settled).contains(&number)
    }

    /// The next step of a reader that has sent all events up to `position`.
    pub(super) fn next_step(&self, reader: u64, position: u32) -> ReaderStep {
        let state = self.state();
        if state.reader != reader {
            return ReaderStep::Replaced;
        }
        if position >= state.settled {
            return if state.ended && position >= state.last { ReaderStep::Ended } else { ReaderStep::Wait };
        }
        let is_ready = |event: &&LoggedEvent| event.number > position && event.number <= state.settled;
        let ready: Vec<LoggedEvent> = state.tail.iter().map(|(event, _)| event).filter(is_ready).cloned().collect();
        match ready.first() {
            Some(first) if first.number == position + 1 => ReaderStep::Send(ready),
            _ => ReaderStep::ReadStored,
        }
    }

    /// A page of the stored events after `position`. Empty if they cannot be read without a gap.
    pub(super) async fn read_stored(&self, position: u32) -> Vec<LoggedEvent> {
        let page = match self.storage.events(self.key, position).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "a stream cannot be read");
                return vec![];
            }
        };
        let first = page.first().map_or(0, |event| event.number);
        // On the standalone stream older events may have been pruned.
        if first != position + 1 && !(self.standalone && self.state().pruned >= position) {
            return vec![];
        }
        let in_order = page.into_iter().zip(first..).map_while(|(event, number)| {
            let message = Arc::new(restore(&event.message)?);
            (event.number == number).then_some(LoggedEvent { number, message, stored: true })
        });
        in_order.collect()
    }

    /// Marks an event as read. False if the reader was replaced; then it must not send the event.
    pub(super) fn mark_sent(&self, reader: u64, number: u32) -> bool {
        let mut state = self.state();
        if state.reader != reader {
            return false;
        }
        state.mark_read(number);
        drop(state);
        self.changed.send_replace(());
        true
    }
}

impl EventLogState {
    fn add(&mut self, event: LoggedEvent, bytes: usize) {
        self.tail.push_back((event, bytes));
        self.tail_bytes += bytes;
        self.sizes.push_back(bytes);
        self.kept_bytes += bytes;
        self.unread_bytes += bytes;
    }

    fn is_far_ahead(&self) -> bool {
        !self.ended && (self.last.saturating_sub(self.read) > MAX_UNREAD || self.unread_bytes > MAX_UNREAD_BYTES)
    }

    fn size_of(&self, number: u32) -> usize {
        let index = number.checked_sub(self.pruned + 1).map(|index| index as usize);
        index.and_then(|index| self.sizes.get(index)).copied().unwrap_or(0)
    }

    fn mark_read(&mut self, number: u32) {
        while self.read < number {
            self.read += 1;
            self.unread_bytes = self.unread_bytes.saturating_sub(self.size_of(self.read));
        }
    }

    /// Forgets the oldest events above the limits. Returns up to which number the storage may delete, or 0.
    fn prune(&mut self, standalone: bool) -> u32 {
        let before = self.pruned;
        let (max_kept, end) = if standalone { (MAX_KEPT_STANDALONE, self.last) } else { (MAX_KEPT, self.read) };
        while (self.sizes.len() > max_kept || self.kept_bytes > MAX_KEPT_BYTES) && self.pruned < end {
            if standalone {
                self.mark_read(self.pruned + 1);
            }
            self.kept_bytes -= self.sizes.pop_front().unwrap_or(0);
            self.pruned += 1;
        }
        if self.pruned > before { self.pruned } else { 0 }
    }

    /// Keeps the tail short. Events that are not stored stay until they are read.
    fn trim(&mut self) {
        while self.tail.len() > MAX_TAIL || self.tail_bytes > MAX_TAIL_BYTES {
            let Some((first, bytes)) = self.tail.front() else { return };
            if first.number > self.settled || (!first.stored && first.number > self.read) {
                return;
            }
            self.tail_bytes -= bytes;
            self.tail.pop_front();
        }
    }
}
