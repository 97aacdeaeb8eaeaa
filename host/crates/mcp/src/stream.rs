//! What a running call says, on the stream of the request it is served under: chunks and progress as notifications, and
//! questions in their place among them.
//!
//! The guest's side is a [`CallSink`] over a bounded queue, the wire's side a future that empties it: a reader that is
//! behind fills the queue, a full queue blocks the guest or, if its operator prefers that, drops the oldest chunk.

use super::form::{Form, Seen};
use super::pending::Ask;
use super::record::Record;
use async_trait::async_trait;
use futures::future::BoxFuture;
use policy::Overflow;
use rmcp::model::{GetExtensions as _, RequestId, ServerNotification};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, RoleServer, ServiceError};
use runtime::imports::{CallSink, Chunk, Level, OutputError, Report};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Chunks that may wait for the reader: with the largest chunks, 1 MiB a call.
const QUEUE: usize = 16;

/// Small, because the queue of a parked call keeps room for many.
pub(super) enum Event {
    Chunk(u64, Box<Chunk>),
    /// There is something in the ring.
    Ring,
    Progress(Box<Report>),
    Log(Level, String),
    Ask(Box<Ask>),
}

/// The newest chunks of a call whose oldest may be dropped.
#[derive(Clone, Default)]
struct Ring(Arc<Mutex<VecDeque<Numbered>>>);

type Numbered = (u64, Box<Chunk>);

impl Ring {
    fn push(&self, seq: u64, chunk: Box<Chunk>) {
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chunks.len() >= QUEUE {
            chunks.pop_front();
        }
        chunks.push_back((seq, chunk));
    }

    fn pop(&self) -> Option<Event> {
        let (seq, chunk) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        Some(Event::Chunk(seq, chunk))
    }
}

/// The guest's side.
pub(super) struct Queue {
    to: mpsc::Sender<Event>,
    overflow: Overflow,
    ring: Ring,
}

impl Queue {
    /// Both sides of a call's queue.
    pub(super) fn new(overflow: Overflow, record: Record) -> (Self, Stream) {
        let (to, from) = mpsc::channel(QUEUE);
        let ring = Ring::default();
        (Self { to, overflow, ring: ring.clone() }, Stream { from, ring, record, seen: None })
    }

    pub(super) fn sender(&self) -> mpsc::Sender<Event> {
        self.to.clone()
    }
}

#[async_trait]
impl CallSink for Queue {
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        let chunk = Box::new(chunk);
        match self.overflow {
            Overflow::Block => self.to.send(Event::Chunk(seq, chunk)).await.map_err(|_| OutputError::Closed),
            Overflow::DropOldest => {
                // The wire's side runs beside the guest: without this it would come in only at the next epoch tick.
                tokio::task::yield_now().await;
                self.ring.push(seq, chunk);
                // The ring is looked into before every event, so a queue that is full needs no further one.
                match self.to.try_send(Event::Ring) {
                    Err(mpsc::error::TrySendError::Closed(_)) => Err(OutputError::Closed),
                    _ => Ok(()),
                }
            }
        }
    }

    fn progress(&self, report: Report) {
        // A full queue means that the reader is behind; a newer report will come.
        let _ = self.to.try_send(Event::Progress(Box::new(report)));
    }

    fn log(&self, level: Level, message: &str) {
        // Likewise; the host's log has it in any case.
        let _ = self.to.try_send(Event::Log(level, message.to_owned()));
    }
}

/// Where a request's notifications go, and in which form.
#[derive(Clone)]
pub(super) struct Outlet(Arc<Shared>);

struct Shared {
    form: Form,
    peer: Peer<RoleServer>,
    request: RequestId,
}

impl Outlet {
    pub(super) fn of(context: &RequestContext<RoleServer>, record: &Record) -> Self {
        let form = Form::of(context).for_call(record.call());
        let (peer, request) = (context.peer.clone(), context.id.clone());
        Self(Arc::new(Shared { form, peer, request }))
    }

    async fn send(&self, mut notification: ServerNotification) -> Result<(), ServiceError> {
        // Legacy sessions have a stream for each request and one for the rest; rmcp marks only requests itself.
        notification.extensions_mut().insert(OriginatingRequestId(self.0.request.clone()));
        self.0.peer.send_notification(notification).await
    }
}

/// The wire's side: empties the queue.
pub(super) struct Stream {
    from: mpsc::Receiver<Event>,
    ring: Ring,
    record: Record,
    seen: Seen,
}

impl Stream {
    /// What became of the chunks.
    pub(super) fn record(&self) -> Record {
        self.record.clone()
    }

    /// Sends what the call says until it asks something, or has said everything, or nobody reads any more.
    pub(super) fn forward(mut self, to: Outlet) -> BoxFuture<'static, (Self, Option<Ask>)> {
        Box::pin(async move {
            while let Some(event) = self.next().await {
                let event = match event {
                    Event::Ask(ask) => return (self, Some(*ask)),
                    event => event,
                };
                let Some(notification) = self.notification(event, &to.0.form) else { continue };
                if to.send(notification).await.is_err() {
                    // Nobody reads any more: the guest's next chunk fails.
                    self.from.close();
                    return (self, None);
                }
                // However much there is to say, others have their turn after each piece of it.
                tokio::task::yield_now().await;
            }
            if let Some(end) = to.0.form.end(self.record.given()) {
                // Whoever misses it reads the same in the result.
                let _ = to.send(end).await;
            }
            (self, None)
        })
    }

    /// Sends what is in the queue already, and takes out what is asked; whether there was anything.
    pub(super) async fn drain(&mut self, to: &Outlet, asks: &mut Vec<Ask>) -> bool {
        let mut found = false;
        while let Some(event) = self.ring.pop().or_else(|| self.from.try_recv().ok()) {
            found = true;
            self.say(event, to, asks).await;
        }
        found
    }

    /// Sends one thing, unless it asks something.
    pub(super) async fn say(&mut self, event: Event, to: &Outlet, asks: &mut Vec<Ask>) {
        match event {
            Event::Ask(ask) => asks.push(*ask),
            event => {
                if let Some(notification) = self.notification(event, &to.0.form) {
                    // Whoever goes on with the call finds out that nobody reads.
                    let _ = to.send(notification).await;
                }
            }
        }
    }

    pub(super) async fn next(&mut self) -> Option<Event> {
        match self.ring.pop() {
            Some(chunk) => Some(chunk),
            None => self.from.recv().await,
        }
    }

    fn notification(&mut self, event: Event, form: &Form) -> Option<ServerNotification> {
        match event {
            Event::Chunk(seq, chunk) if form.takes_chunks() => {
                self.record.sent(seq, &chunk.content);
                form.chunk(seq, *chunk, &mut self.seen)
            }
            Event::Chunk(seq, chunk) => {
                self.record.log(seq, *chunk);
                None
            }
            Event::Progress(report) => form.progress(*report, &mut self.seen),
            Event::Log(level, message) => form.log(level, message),
            Event::Ring | Event::Ask(_) => None,
        }
    }
}
