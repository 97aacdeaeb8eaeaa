//! The events of a running call in their order: chunks, progress and log messages, which become notifications, and
//! requests to the client.
//!
//! The guest's side is a [`CallSink`] over a bounded queue; the wire's side is a future that empties it. A client that
//! reads slowly fills the queue, and a full queue blocks the guest or, if the operator configured that, drops the
//! oldest chunk.

use super::chunk_record::ChunkRecord;
use super::format::NotificationFormat;
use super::notification_sender::NotificationSender;
use super::pending::PendingRequest;
use super::progress::MergedProgress;
use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::sync::Mutex;
use policy::Overflow;
use protocol::content::to_plain_text;
use rmcp::service::ServiceError;
use runtime::imports::{CallSink, Chunk, EarlierChunks, LogLevel, OutputError, ProgressReport};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Chunks that may wait for the client: at most 1 MiB for each call.
const QUEUE_CHUNKS: usize = 16;

/// The events are kept small, because the queue of a parked call keeps its allocation.
pub(crate) enum CallEvent {
    Chunk(u64, Box<Chunk>),
    /// There is a chunk in the ring.
    Ring,
    Progress(Box<ProgressReport>),
    Log(LogLevel, String),
    /// The sender is notified once everything before this is sent.
    Flush(oneshot::Sender<()>),
    Request(Box<PendingRequest>),
}

/// The newest chunks of a call whose oldest chunks may be dropped.
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
    /// Holds the chunks of a call that may lose some.
    ring: Option<ChunkRing>,
    record: ChunkRecord,
}

impl EventQueue {
    pub(crate) fn new(overflow: Overflow, record: ChunkRecord) -> (Self, EventStream) {
        let (to, from) = mpsc::channel(QUEUE_CHUNKS);
        let ring = match overflow {
            Overflow::Block => None,
            Overflow::DropOldest => Some(ChunkRing::default()),
        };
        let queue = Self { to, ring: ring.clone(), record: record.clone() };
        (queue, EventStream { from, ring, record, progress: MergedProgress::default() })
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

    fn replayed_chunk(&self, seq: u64, chunk: Chunk) {
        self.record.log_chunk(seq, chunk);
    }

    async fn flush(&self) {
        let (done, taken) = oneshot::channel();
        if self.to.send(CallEvent::Flush(done)).await.is_ok() {
            // A stream that is gone has nothing to send any more, so an error does not matter.
            let _ = taken.await;
        }
    }

    fn counted(&self) -> Option<Vec<u8>> {
        self.record.sink().counted()
    }

    fn catch_up(&self, earlier: EarlierChunks) {
        self.record.sink().catch_up(earlier);
    }

    fn progress(&self, report: ProgressReport) {
        // A full queue means that the client lags behind; a newer report will follow.
        let _ = self.to.try_send(CallEvent::Progress(Box::new(report)));
    }

    fn log(&self, level: LogLevel, message: &str) {
        // A full queue drops the message, which is in the host's log in any case.
        let _ = self.to.try_send(CallEvent::Log(level, message.to_owned()));
    }
}

/// Sends events to the client, and returns the stream in the end.
pub(crate) type Forwarding = BoxFuture<'static, (EventStream, ForwardEnd)>;

/// Why no more events are sent.
pub(crate) enum ForwardEnd {
    Asked(PendingRequest),
    /// The call has ended, or the client is gone.
    Over,
    /// Something else is to send the rest.
    Left,
}

/// The wire's side of the queue.
pub(crate) struct EventStream {
    from: mpsc::Receiver<CallEvent>,
    ring: Option<ChunkRing>,
    record: ChunkRecord,
    progress: MergedProgress,
}

impl EventStream {
    pub(crate) fn record(&self) -> ChunkRecord {
        self.record.clone()
    }

    /// Sends events until the call asks something or ends, the client is gone, or `leave` is cancelled.
    pub(crate) fn forward(mut self, sender: NotificationSender, leave: CancellationToken) -> Forwarding {
        Box::pin(async move {
            match self.send_all(&sender, &leave).await {
                Ok(end) => (self, end),
                Err(_) => {
                    // The client is gone: the guest's next chunk fails.
                    self.from.close();
                    (self, ForwardEnd::Over)
                }
            }
        })
    }

    async fn send_all(
        &mut self,
        sender: &NotificationSender,
        leave: &CancellationToken,
    ) -> Result<ForwardEnd, ServiceError> {
        let expects_progress = sender.expects_progress();
        loop {
            let Self { from, ring, progress, .. } = &mut *self;
            let event = tokio::select! {
                biased;
                () = progress.due(expects_progress) => {
                    if sender.is_read() {
                        progress.repeat();
                    }
                    self.send_progress(sender).await?;
                    continue;
                }
                () = leave.cancelled() => {
                    self.rest(sender).await?;
                    return Ok(ForwardEnd::Left);
                }
                event = next_event(ring.as_ref(), from) => event,
            };
            match event {
                Some(CallEvent::Request(ask)) => {
                    self.rest(sender).await?;
                    return Ok(ForwardEnd::Asked(*ask));
                }
                Some(event) => self.send(event, sender).await?,
                None => break,
            }
            // Lets other tasks run after each event, however many events there are.
            tokio::task::yield_now().await;
        }
        self.rest(sender).await?;
        if let Some(end) = sender.format().and_then(|format| format.end(self.record.emitted())) {
            // A client that misses the end mark finds the same data in the result.
            let _ = sender.send(end).await;
        }
        Ok(ForwardEnd::Over)
    }

    /// Sends what is in the queue now and collects the requests. Returns whether there was anything.
    pub(crate) async fn drain(&mut self, sender: &NotificationSender, asks: &mut Vec<PendingRequest>) -> bool {
        let mut found = false;
        while let Some(event) = self.ring.as_ref().and_then(ChunkRing::pop).or_else(|| self.from.try_recv().ok()) {
            found = true;
            self.send_or_collect(event, sender, asks).await;
        }
        if !found {
            // If this fails, the next event that is sent fails again; likewise below.
            let _ = self.rest(sender).await;
        }
        found
    }

    /// Sends one event, or collects it if it is a request to the client.
    pub(crate) async fn send_or_collect(
        &mut self,
        event: CallEvent,
        sender: &NotificationSender,
        asks: &mut Vec<PendingRequest>,
    ) {
        match event {
            CallEvent::Request(ask) => asks.push(*ask),
            event => {
                let _ = self.send(event, sender).await;
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Option<CallEvent> {
        next_event(self.ring.as_ref(), &mut self.from).await
    }

    /// Sends an event if the client reads it. Progress is only stored for later. Chunks that are not sent as chunks are logged.
    async fn send(&mut self, event: CallEvent, sender: &NotificationSender) -> Result<(), ServiceError> {
        let format = sender.format();
        let reads_chunks = format.is_some_and(NotificationFormat::reads_chunks);
        let reads_progress = sender.reads_progress();
        let notification = match event {
            CallEvent::Chunk(seq, chunk) if reads_chunks => {
                self.record.count_sent(seq, &chunk.content);
                format.and_then(|format| format.chunk(seq, *chunk))
            }
            CallEvent::Chunk(seq, chunk) => {
                if reads_progress {
                    self.progress.chunk(to_plain_text(&chunk.content));
                }
                self.record.log_chunk(seq, *chunk);
                None
            }
            CallEvent::Progress(report) => {
                if reads_progress {
                    self.progress.report(*report);
                }
                None
            }
            CallEvent::Log(level, message) => format.and_then(|format| format.log(level, message)),
            CallEvent::Flush(done) => {
                let _ = done.send(());
                None
            }
            CallEvent::Ring | CallEvent::Request(_) => None,
        };
        match notification {
            Some(notification) => {
                self.progress.note_heard();
                sender.send(notification).await
            }
            None => Ok(()),
        }
    }

    async fn send_progress(&mut self, sender: &NotificationSender) -> Result<(), ServiceError> {
        match self.progress.take() {
            Some(report) => sender.progress(report).await,
            None => Ok(()),
        }
    }

    /// Sends the waiting progress before a round or the call ends.
    async fn rest(&mut self, sender: &NotificationSender) -> Result<(), ServiceError> {
        let sent = self.send_progress(sender).await;
        self.progress.rest();
        sent
    }
}

async fn next_event(ring: Option<&ChunkRing>, from: &mut mpsc::Receiver<CallEvent>) -> Option<CallEvent> {
    match ring.and_then(ChunkRing::pop) {
        Some(chunk) => Some(chunk),
        None => from.recv().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, join};
    use platform::changes::ChangeNotifier;
    use platform::clock::SystemClock;
    use policy::{PluginId, Side};
    use runtime::imports::{CallContext, Content};
    use services::principal_store::PrincipalStore;

    #[tokio::test]
    async fn a_flush_waits_until_all_chunks_before_it_are_taken() {
        for overflow in [Overflow::Block, Overflow::DropOldest] {
            let store = Arc::new(PrincipalStore::new(Arc::new(SystemClock), ChangeNotifier::new()));
            let plugin = PluginId { side: Side::Server, name: "p".into() };
            let record = ChunkRecord::new(store, &CallContext::new("local"), plugin, "p__t".into());
            let (queue, stream) = EventQueue::new(overflow, record.clone());
            for seq in 0..3 {
                queue.chunk(seq, Chunk { content: vec![Content::text("a")], origin: vec![] }).await.unwrap();
            }
            assert!(queue.flush().now_or_never().is_none(), "nobody has taken them");
            assert_eq!(record.emitted(), 0);
            let leave = CancellationToken::new();
            let forward = stream.forward(NotificationSender::Task(Arc::new(drop)), leave.clone());
            let flushed = async {
                queue.flush().await;
                let emitted = record.emitted();
                leave.cancel();
                emitted
            };
            let ((stream, _), emitted) = join!(forward, flushed);
            assert_eq!(emitted, 3);
            drop(stream);
            queue.flush().await;
        }
    }
}
