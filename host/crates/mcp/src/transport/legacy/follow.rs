//! Reading a stream from some event on, as it grows, until it is over.

use super::log::{EventLog, Next, Said};
use super::message::EventId;
use futures::{Stream, stream};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Sleep;

/// How a stream is read.
pub(super) struct Reading {
    /// From which event on; none: from where those before it came to.
    pub(super) after: Option<u32>,
    /// Whether the client knows the event without data that goes first: it names where to go on, and when at the
    /// earliest, if the connection breaks before anything was said.
    pub(super) primed: bool,
    /// When to close although there is more to come.
    pub(super) close_after: Option<Duration>,
    /// Told when nobody is to read any more.
    pub(super) over: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    /// Shows that somebody reads.
    pub(super) presence: Arc<()>,
}

/// When a client may come back for the rest.
const RETRY: Duration = Duration::from_secs(1);

struct Reader {
    log: Arc<EventLog>,
    number: u64,
    at: u32,
    ready: VecDeque<Said>,
    changes: watch::Receiver<()>,
    close: Option<Pin<Box<Sleep>>>,
    over: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    priming: bool,
    _presence: Arc<()>,
}

/// The events as rmcp puts them on the wire.
pub(super) fn follow(log: Arc<EventLog>, how: Reading) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let changes = log.changes();
    let (number, reached) = log.take_over();
    let reader = Reader {
        number,
        at: how.after.unwrap_or(reached),
        ready: VecDeque::new(),
        changes,
        close: how.close_after.map(|after| Box::pin(tokio::time::sleep(after))),
        over: how.over,
        priming: how.primed,
        _presence: how.presence,
        log,
    };
    stream::unfold(reader, |mut reader| async move { reader.next().await.map(|event| (event, reader)) })
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        if std::mem::take(&mut self.priming) {
            return Some(ServerSseMessage::priming(EventId::text(&self.log.token, self.at), RETRY));
        }
        loop {
            if let Some(said) = self.ready.pop_front() {
                if !self.log.give(self.number, said.number) {
                    self.ready.clear();
                    continue;
                }
                self.at = said.number;
                let mut event = ServerSseMessage::default();
                event.event_id = said.stored.then(|| EventId::text(&self.log.token, said.number));
                event.message = Some(said.message);
                return Some(event);
            }
            self.changes.borrow_and_update();
            match self.log.next(self.number, self.at) {
                Next::Say(said) => self.ready.extend(said),
                Next::ReadOn => {
                    self.ready.extend(self.log.read_on(self.at).await);
                    if self.ready.is_empty() {
                        return None;
                    }
                }
                Next::Over => return None,
                // A client that reads its session's stream twice would come back at once if the older one were closed.
                Next::StepBack if !self.log.own => return None,
                Next::StepBack | Next::Wait => {
                    if !self.wait().await {
                        return None;
                    }
                }
            }
        }
    }

    /// Until something changes. False when it is time to go.
    async fn wait(&mut self) -> bool {
        let closing = async {
            match &mut self.close {
                Some(close) => close.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            () = closing => false,
            () = &mut self.over => false,
        }
    }
}
