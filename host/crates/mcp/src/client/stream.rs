//! The events of a running call in their order: chunks, progress and log messages, which become notifications, and
//! requests to the client.
//!
//! The guest's side is a [`CallSink`] over a bounded queue; the wire's side is a future that empties it. A client that
//! reads slowly fills the queue, and a full queue blocks the guest or, if the operator configured that, drops the
//! oldest chunk.

use super::chunk_record::ChunkRecord;
use super::format::{LastProgress, NotificationFormat};
use super::notification_sender::NotificationSender;
use super::pending::PendingRequest;
use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::sync::Mutex;
use policy::Overflow;
use rmcp::model::ServerNotification;
use runtime::imports::{CallSink, Chunk, LogLevel, OutputError, ProgressReport};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Chunks that may wait for the client: at most 1 MiB for each call.
const QUEUE_CHUNKS: usize = 16;

/// Small, because the queue of a parked call keeps its allocation.
pub(crate) enum CallEvent {
    Chunk(u64, Box<Chunk>),
    /// The ring has a chunk.
    Ring,
    Progress(Box<ProgressReport>),
    Log(LogLevel, String),
    Request(Box<PendingRequest>),
}

/// The newest chunks of a call that may lose its oldest ones.
#[derive(Clone, Default)]
struct ChunkRing(Arc<Mutex<VecDeque<Numbered>>>);

type Numbered = (u64, Box<Chunk>);

impl ChunkRing {
    fn push(&self, seq: u64, chunk: Box<Chunk>) {
        let mut chunks = self.0.lock();
        if chunks.len() >= QUEUE_CHUNKS {
            chunks.pop_front();
        }
        chunks.push_back((seq, chunk));
    }

    fn pop(&self) -> Option<CallEvent> {
        let (seq, chunk) = self.0.lock().pop_front()?;
        Some(CallEvent::Chunk(seq, chunk))
    }
}

/// The guest's side of the queue.
pub(crate) struct EventQueue {
    to: mpsc::Sender<CallEvent>,
    /// Has the chunks of a call that may lose some.
    ring: Option<ChunkRing>,
}

impl EventQueue {
    pub(crate) fn new(overflow: Overflow, record: ChunkRecord) -> (Self, EventStream) {
        let (to, from) = mpsc::channel(QUEUE_CHUNKS);
        let ring = match overflow {
            Overflow::Block => None,
            Overflow::DropOldest => Some(ChunkRing::default()),
        };
        (Self { to, ring: ring.clone() }, EventStream { from, ring, record, last_progress: None })
    }

    pub(crate) fn sender(&self) -> mpsc::Sender<CallEvent> {
        self.to.clone()
    }
}

#[async_trait]
impl CallSink for EventQueue {
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        let chunk = Box::new(chunk);
        match &self.ring {
            None => self.to.send(CallEvent::Chunk(seq, chunk)).await.map_err(|_| OutputError::Closed),
            Some(ring) => {
                // Both sides run in one task: without this the wire's side would run only at the guest's next epoch
                // tick.
                tokio::task::yield_now().await;
                ring.push(seq, chunk);
                // The ring is read before every event, so a full queue needs no event for it.
                match self.to.try_send(CallEvent::Ring) {
                    Err(mpsc::error::TrySendError::Closed(_)) => Err(OutputError::Closed),
                    _ => Ok(()),
                }
            }
        }
    }

    fn progress(&self, report: ProgressReport) {
        // A full queue means that the client is behind; a newer report will follow.
        let _ = self.to.try_send(CallEvent::Progress(Box::new(report)));
    }

    fn log(&self, level: LogLevel, message: &str) {
        // A full queue drops it; the host's log has it in any case.
        let _ = self.to.try_send(CallEvent::Log(level, message.to_owned()));
    }
}

/// The wire's side of the queue.
pub(crate) struct EventStream {
    from: mpsc::Receiver<CallEvent>,
    ring: Option<ChunkRing>,
    record: ChunkRecord,
    last_progress: LastProgress,
}

impl EventStream {
    pub(crate) fn record(&self) -> ChunkRecord {
        self.record.clone()
    }

    /// Sends events until the call asks something, which is returned, or ends, or the client is gone.
    pub(crate) fn forward(mut self, sender: NotificationSender) -> BoxFuture<'static, (Self, Option<PendingRequest>)> {
        Box::pin(async move {
            while let Some(event) = self.next().await {
                let event = match event {
                    CallEvent::Request(ask) => return (self, Some(*ask)),
                    event => event,
                };
                let Some(notification) = self.notification(event, sender.format()) else { continue };
                if sender.send(notification).await.is_err() {
                    // The client is gone: the guest's next chunk fails.
                    self.from.close();
                    return (self, None);
                }
                // Other tasks run after each event, however many there are.
                tokio::task::yield_now().await;
            }
            if let Some(end) = sender.format().and_then(|format| format.end(self.record.emitted())) {
                // A client that misses it finds the same in the result.
                let _ = sender.send(end).await;
            }
            (self, None)
        })
    }

    /// Sends what is in the queue now and collects what is asked; returns whether there was anything.
    pub(crate) async fn drain(&mut self, sender: &NotificationSender, asks: &mut Vec<PendingRequest>) -> bool {
        let mut found = false;
        while let Some(event) = self.ring_chunk().or_else(|| self.from.try_recv().ok()) {
            found = true;
            self.send_or_collect(event, sender, asks).await;
        }
        found
    }

    /// Sends one event, or collects it if it asks something.
    pub(crate) async fn send_or_collect(
        &mut self,
        event: CallEvent,
        sender: &NotificationSender,
        asks: &mut Vec<PendingRequest>,
    ) {
        match event {
            CallEvent::Request(ask) => asks.push(*ask),
            event => {
                if let Some(notification) = self.notification(event, sender.format()) {
                    // A failure shows again when the next event is sent.
                    let _ = sender.send(notification).await;
                }
            }
        }
    }

    /// The oldest chunk in the ring.
    fn ring_chunk(&self) -> Option<CallEvent> {
        self.ring.as_ref()?.pop()
    }

    pub(crate) async fn next(&mut self) -> Option<CallEvent> {
        match self.ring_chunk() {
            Some(chunk) => Some(chunk),
            None => self.from.recv().await,
        }
    }

    /// None if the client does not read the event. Chunks that it does not read are logged.
    fn notification(&mut self, event: CallEvent, format: Option<&NotificationFormat>) -> Option<ServerNotification> {
        match (event, format) {
            (CallEvent::Chunk(seq, chunk), Some(format)) if format.accepts_chunks() => {
                self.record.count_sent(seq, &chunk.content);
                format.chunk(seq, *chunk, &mut self.last_progress)
            }
            (CallEvent::Chunk(seq, chunk), _) => {
                self.record.log_chunk(seq, *chunk);
                None
            }
            (CallEvent::Progress(report), Some(format)) => format.progress(*report, &mut self.last_progress),
            (CallEvent::Log(level, message), Some(format)) => format.log(level, message),
            (CallEvent::Progress(_) | CallEvent::Log(..) | CallEvent::Ring | CallEvent::Request(_), _) => None,
        }
    }
}
