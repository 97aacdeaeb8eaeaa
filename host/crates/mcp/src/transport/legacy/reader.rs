//! Reads a stream from a given event on, as it grows, until it ends.

use super::event_log::{EventLog, LoggedEvent, ReaderStep};
use super::message::EventId;
use futures::{Stream, stream};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Sleep;

pub(super) struct ReaderOptions {
    /// The last event that the client has; none: continue after the last event that any reader has sent.
    pub(super) after: Option<u32>,
    /// Whether to start with an event without data. It tells the client from where and when to resume if the connection
    /// breaks before the first message.
    pub(super) primed: bool,
    /// When to close the stream although more events will come.
    pub(super) close_after: Option<Duration>,
    /// Completes when reading must end.
    pub(super) ended: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    /// Its session counts these to know whether it is read from.
    pub(super) reader_token: Arc<()>,
}

/// When a client may resume.
const RETRY: Duration = Duration::from_secs(1);

struct StreamReader {
    log: Arc<EventLog>,
    number: u64,
    /// The last event that was sent.
    position: u32,
    ready: VecDeque<LoggedEvent>,
    changes: watch::Receiver<()>,
    close: Option<Pin<Box<Sleep>>>,
    ended: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    priming: bool,
    _reader_token: Arc<()>,
}

/// The events as rmcp sends them.
pub(super) fn read_events(
    log: Arc<EventLog>,
    options: ReaderOptions,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let changes = log.changes();
    let (number, position) = log.attach_reader();
    let reader = StreamReader {
        number,
        position: options.after.unwrap_or(position),
        ready: VecDeque::new(),
        changes,
        close: options.close_after.map(|after| Box::pin(tokio::time::sleep(after))),
        ended: options.ended,
        priming: options.primed,
        _reader_token: options.reader_token,
        log,
    };
    stream::unfold(reader, |mut reader| async move { reader.next().await.map(|event| (event, reader)) })
}

impl StreamReader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        if std::mem::take(&mut self.priming) {
            return Some(ServerSseMessage::priming(EventId::format(&self.log.token, self.position), RETRY));
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                if !self.log.mark_sent(self.number, event.number) {
                    self.ready.clear();
                    continue;
                }
                self.position = event.number;
                let mut message = ServerSseMessage::default();
                message.event_id = event.stored.then(|| EventId::format(&self.log.token, event.number));
                message.message = Some(event.message);
                return Some(message);
            }
            self.changes.borrow_and_update();
            match self.log.next_step(self.number, self.position) {
                ReaderStep::Send(events) => self.ready.extend(events),
                ReaderStep::ReadStored => {
                    self.ready.extend(self.log.read_stored(self.position).await);
                    if self.ready.is_empty() {
                        return None;
                    }
                }
                ReaderStep::Ended => return None,
                // On the standalone stream, a client that reads it twice would reconnect at once if the older one closed.
                ReaderStep::Replaced if !self.log.standalone => return None,
                ReaderStep::Replaced | ReaderStep::Wait => {
                    if !self.wait().await {
                        return None;
                    }
                }
            }
        }
    }

    /// Waits for a change in the log. False if reading must end.
    async fn wait(&mut self) -> bool {
        let closing = async {
            match &mut self.close {
                Some(close) => close.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            () = closing => {
                self.log.set_closed();
                false
            }
            () = &mut self.ended => false,
        }
    }
}
