//! One stream: what was said on it, how much of it is stored, and how far it was read.

use super::message::{Worded, restore};
use platform::storage::{Event, Storage, StorageError, StreamKey, StreamRecord};
use rmcp::model::ServerJsonRpcMessage;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What may be said and not yet be read. A client that is behind, or away, holds up its own call and nothing else.
const AHEAD: u32 = 1_024;
const AHEAD_BYTES: usize = 4 << 20;
/// How long a call is held up without anything being read, before it is told that nobody reads.
pub(super) const READER_PATIENCE: Duration = Duration::from_secs(30);
/// What was read and is kept for a client that lost it with its connection. Bounds the disk one call takes.
const KEPT: usize = 2_048;
const KEPT_BYTES: usize = 8 << 20;
/// The same for a session's own stream, read or not: it never ends, and what it carries are hints.
const KEPT_OWN: usize = 256;
/// What is also kept in memory, so that a reader that keeps up reads nothing from the disk.
const TAIL: usize = 64;
const TAIL_BYTES: usize = 256 << 10;

/// Nothing more can be said here.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(in crate::transport) enum Silent {
    #[error("the stream is over")]
    Over,
    #[error("nobody reads the stream")]
    Unread,
}

/// A message on its way to a reader.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) number: u32,
    pub(super) message: Arc<ServerJsonRpcMessage>,
    /// Not so when the disk is full: then it is said all the same, but cannot be resumed from.
    pub(super) stored: bool,
}

/// What a reader does next.
pub(super) enum Next {
    Say(Vec<Said>),
    ReadOn,
    Wait,
    /// Another reader has taken over.
    StepBack,
    Over,
}

pub(super) struct EventLog {
    pub(super) token: String,
    /// Of the session itself rather than of one request.
    pub(super) own: bool,
    key: StreamKey,
    storage: Storage,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    last: u32,
    /// Everything up to here is stored, or could not be.
    settled: u32,
    read: u32,
    pruned: u32,
    ended: bool,
    /// The newest reader; those before it step back.
    reader: u64,
    tail: VecDeque<(Said, usize)>,
    tail_bytes: usize,
    /// Sizes of the events that are kept.
    sizes: VecDeque<usize>,
    kept_bytes: usize,
    unread_bytes: usize,
}

impl EventLog {
    /// A stream that was just opened, or one as it is stored.
    pub(super) fn new(storage: Storage, token: String, own: bool, record: &StreamRecord) -> Arc<Self> {
        let StreamRecord { last, pruned, ended, .. } = *record;
        // Sizes of what was said before are not known any more; there are few, and only their number counts then.
        let sizes = (pruned..last).map(|_| 0).collect();
        let state = State { last, settled: last, read: last, pruned, ended, sizes, ..State::default() };
        let (state, changed) = (Mutex::new(state), watch::Sender::new(()));
        Arc::new(Self { token, own, key: record.key, storage, state, changed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something; `end`: it is the last word. It is stored in the order of these calls, soon.
    pub(super) fn say(self: &Arc<Self>, said: impl Into<Worded>, end: bool) -> Result<u32, Silent> {
        let Worded { message, text: Some(text) } = said.into() else { return Err(Silent::Over) };
        let mut state = self.state();
        if state.ended {
            return Err(Silent::Over);
        }
        let number = state.last + 1;
        state.last = number;
        state.ended = end;
        state.add(Said { number, message: Arc::new(message), stored: true }, text.len());
        let prune = state.prune(self.own);
        let log = self.clone();
        let done = move |result| log.settle(number, result);
        // Still under the lock, so that the numbers reach the storage in order.
        let undone = self.storage.append(self.key, Event { number, message: text }, end, prune, done);
        drop(state);
        drop(undone);
        Ok(number)
    }

    fn settle(&self, number: u32, result: Result<(), StorageError>) {
        let mut state = self.state();
        state.settled = number;
        if let Err(error) = result {
            tracing::error!(%error, "a message to a client is not stored; it is sent all the same");
            if let Some(said) = state.tail.iter_mut().map(|(said, _)| said).find(|said| said.number == number) {
                said.stored = false;
            }
        }
        state.trim();
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends the stream without a last word.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.ended, true) {
            // Nobody needs to know when.
            drop(self.storage.end_stream(self.key));
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Until this event is stored, or cannot be.
    pub(super) async fn settled(&self, number: u32) {
        let mut changes = self.changed.subscribe();
        while self.state().settled < number && changes.changed().await.is_ok() {}
    }

    /// Until the reader is not too far behind; an error when it reads nothing for so long.
    pub(super) async fn caught_up(&self, patience: Duration) -> Result<(), Silent> {
        let mut changes = self.changed.subscribe();
        let mut read = self.state().read;
        let mut late = std::pin::pin!(tokio::time::sleep(patience));
        while self.state().is_far_ahead() {
            tokio::select! {
                _ = changes.changed() => {}
                () = &mut late => return Err(Silent::Unread),
            }
            let now = self.state().read;
            if std::mem::replace(&mut read, now) != now {
                late.set(tokio::time::sleep(patience));
            }
        }
        Ok(())
    }

    /// A new reader, which takes over from those before it. With it: how far they came.
    pub(super) fn take_over(&self) -> (u64, u32) {
        let mut state = self.state();
        state.reader += 1;
        let taken = (state.reader, state.read);
        drop(state);
        self.changed.send_replace(());
        taken
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Whether an event with this number can be gone on from.
    pub(super) fn reaches(&self, number: u32) -> bool {
        let state = self.state();
        (state.pruned..=state.settled).contains(&number)
    }

    /// What a reader that is at `at` does next.
    pub(super) fn next(&self, reader: u64, at: u32) -> Next {
        let state = self.state();
        if state.reader != reader {
            return Next::StepBack;
        }
        if at >= state.settled {
            return if state.ended && at >= state.last { Next::Over } else { Next::Wait };
        }
        let known = |said: &&Said| said.number > at && said.number <= state.settled;
        let ready: Vec<Said> = state.tail.iter().map(|(said, _)| said).filter(known).cloned().collect();
        match ready.first() {
            Some(first) if first.number == at + 1 => Next::Say(ready),
            _ => Next::ReadOn,
        }
    }

    /// A page of what is stored after `at`. Empty when it cannot be read without a gap.
    pub(super) async fn read_on(&self, at: u32) -> Vec<Said> {
        let page = match self.storage.events(self.key, at).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "a stream cannot be read");
                return vec![];
            }
        };
        let first = page.first().map_or(0, |event| event.number);
        // Hints of long ago may be gone; of a request nothing may be.
        if first != at + 1 && !(self.own && self.state().pruned >= at) {
            return vec![];
        }
        let in_order = page.into_iter().zip(first..).map_while(|(event, number)| {
            let message = Arc::new(restore(&event.message)?);
            (event.number == number).then_some(Said { number, message, stored: true })
        });
        in_order.collect()
    }

    /// Notes what a reader was given. False when another has taken over: then it must not be given it.
    pub(super) fn give(&self, reader: u64, number: u32) -> bool {
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

impl State {
    fn add(&mut self, said: Said, bytes: usize) {
        self.tail.push_back((said, bytes));
        self.tail_bytes += bytes;
        self.sizes.push_back(bytes);
        self.kept_bytes += bytes;
        self.unread_bytes += bytes;
    }

    fn is_far_ahead(&self) -> bool {
        !self.ended && (self.last.saturating_sub(self.read) > AHEAD || self.unread_bytes > AHEAD_BYTES)
    }

    fn size_of(&self, number: u32) -> usize {
        let at = number.checked_sub(self.pruned + 1).map(|at| at as usize);
        at.and_then(|at| self.sizes.get(at)).copied().unwrap_or(0)
    }

    fn mark_read(&mut self, number: u32) {
        while self.read < number {
            self.read += 1;
            self.unread_bytes = self.unread_bytes.saturating_sub(self.size_of(self.read));
        }
    }

    /// Decides what need not be kept any longer: up to which number, 0 for nothing.
    fn prune(&mut self, own: bool) -> u32 {
        let before = self.pruned;
        let (kept, settled) = if own { (KEPT_OWN, self.last) } else { (KEPT, self.read) };
        while (self.sizes.len() > kept || self.kept_bytes > KEPT_BYTES) && self.pruned < settled {
            if own {
                self.mark_read(self.pruned + 1);
            }
            self.kept_bytes -= self.sizes.pop_front().unwrap_or(0);
            self.pruned += 1;
        }
        if self.pruned > before { self.pruned } else { 0 }
    }

    /// Keeps the tail short. What is not stored stays until it is read.
    fn trim(&mut self) {
        while self.tail.len() > TAIL || self.tail_bytes > TAIL_BYTES {
            let Some((first, bytes)) = self.tail.front() else { return };
            if first.number > self.settled || (!first.stored && first.number > self.read) {
                return;
            }
            self.tail_bytes -= bytes;
            self.tail.pop_front();
        }
    }
}
