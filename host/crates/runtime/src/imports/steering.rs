//! `steering`: messages to a call that is already running, and the input of an interactive tool.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Unread messages of one call. Bounds what the host keeps for a call that never reads.
pub const MAX_UNREAD: usize = 16;
/// Unread messages with those that an earlier run has left; some of these may have come while the call was suspended.
const MAX_PUT_BACK: usize = 2 * MAX_UNREAD;
/// Length of one message in bytes.
pub const MAX_MESSAGE: usize = 4_096;

/// A message for a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringMessage {
    /// Empty only if the message does nothing but mark the end.
    pub text: String,
    /// Its number, if its sender numbers its messages; the first is 0. A message that is sent again is ignored, and a gap is an
    /// error.
    #[serde(default)]
    pub seq: Option<u64>,
    /// Whether it is the last message.
    #[serde(default)]
    pub end: bool,
}

/// What a call has read of its messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessagesRead {
    next: u64,
    ended: bool,
}

/// The outcome of waiting for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Received {
    Message(SteeringMessage),
    /// There will be no more.
    Ended,
    TimedOut,
}

/// The queue of messages to one call. Clones share it.
#[derive(Clone)]
pub struct Steering(Arc<watch::Sender<Queue>>);

#[derive(Default)]
struct Queue {
    unread: VecDeque<SteeringMessage>,
    /// The number that the next numbered message has.
    next: u64,
    has_ended: bool,
    /// An earlier run has read messages that this run has not replayed yet, so the number of the next one is not known.
    is_behind: bool,
    /// How many receivers wait without a timeout, so that only a message or the end lets them go on.
    waiting: usize,
    /// The call is suspended: its unread messages were taken out, and no more are accepted.
    is_closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteeringError {
    #[error("the call has {MAX_UNREAD} messages that it has not read; wait until it has read some")]
    Full,
    /// Empty or too long.
    #[error("a message is 1 to {MAX_MESSAGE} bytes of text")]
    Length,
    #[error("the message before it is missing: go on with the one that has the number {next}")]
    Missing { next: u64 },
    #[error("the call does not run at the moment")]
    Closed,
    #[error("the call was told that there are no more messages")]
    Ended,
}

impl Default for Steering {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Queue::default())))
    }
}

impl Steering {
    /// Puts a message into the queue. Returns the number of the next one, if its sender numbers them.
    pub fn say(&self, message: SteeringMessage) -> Result<Option<u64>, SteeringError> {
        if message.text.len() > MAX_MESSAGE || (message.text.is_empty() && !message.end) {
            return Err(SteeringError::Length);
        }
        let mut said = Ok(None);
        self.0.send_if_modified(|queue| {
            said = queue.say(message);
            said.is_ok()
        });
        said
    }

    /// Puts back a message that an earlier run has not read.
    pub fn put_back(&self, message: SteeringMessage) -> Result<(), SteeringError> {
        let mut put = Ok(());
        self.0.send_if_modified(|queue| {
            if queue.unread.len() >= MAX_PUT_BACK {
                put = Err(SteeringError::Full);
            } else {
                queue.counted(&message);
                queue.unread.push_back(message);
            }
            put.is_ok()
        });
        put
    }

    /// Removes and returns the oldest message.
    pub fn next(&self) -> Option<SteeringMessage> {
        let mut taken = None;
        self.0.send_if_modified(|queue| {
            if !queue.is_closed {
                taken = queue.take();
            }
            taken.is_some()
        });
        taken
    }

    /// Waits for a message or the end, at most for `timeout`.
    pub async fn receive(&self, timeout: Option<Duration>) -> Received {
        match timeout {
            Some(timeout) => tokio::time::timeout(timeout, self.wait(None)).await.unwrap_or(Received::TimedOut),
            None => self.wait(Some(Waiting::new(self))).await,
        }
    }

    async fn wait(&self, mut waiting: Option<Waiting<'_>>) -> Received {
        let mut changes = self.0.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(received) = self.received(&mut waiting) {
                return received;
            }
            // The queue is alive as long as this is.
            let _ = changes.changed().await;
        }
    }

    /// Takes a message and ends the wait in one step, so that the call either is seen to wait or has what it waited for.
    fn received(&self, waiting: &mut Option<Waiting<'_>>) -> Option<Received> {
        let mut received = None;
        self.0.send_if_modified(|queue| {
            if !queue.is_closed {
                let ended = queue.has_ended.then_some(Received::Ended);
                received = queue.take().map(Received::Message).or(ended);
            }
            if received.is_some() && waiting.take().map(std::mem::forget).is_some() {
                queue.waiting -= 1;
            }
            received.is_some()
        });
        received
    }

    /// For a call that continues an earlier run: numbered messages are refused until it has caught up with that run.
    pub fn resumed() -> Self {
        Self(Arc::new(watch::Sender::new(Queue { is_behind: true, ..Queue::default() })))
    }

    /// Notes that the call has caught up: from here on it reads messages that no earlier run has read.
    pub(crate) fn catches_up(&self) {
        self.0.send_if_modified(|queue| std::mem::take(&mut queue.is_behind));
    }

    /// Waits until numbered messages are accepted.
    pub async fn caught_up(&self) {
        // The queue is alive as long as this is.
        let _ = self.0.subscribe().wait_for(|queue| !queue.is_behind).await;
    }

    /// The number of the first numbered message that the call has not read, and whether it has read the last message.
    pub(crate) fn read_so_far(&self) -> MessagesRead {
        let queue = self.0.borrow();
        let unread = queue.unread.iter().filter_map(|message| message.seq).min();
        let ends_unread = queue.unread.iter().any(|message| message.end);
        MessagesRead { next: unread.unwrap_or(queue.next), ended: queue.has_ended && !ends_unread }
    }

    /// Continues from what an earlier run had read when it saved.
    pub(crate) fn restored(&self, read: MessagesRead) {
        self.0.send_modify(|queue| {
            queue.next = queue.next.max(read.next);
            queue.has_ended |= read.ended;
        });
    }

    /// Counts what an earlier run has read.
    pub fn replayed(&self, received: &Received) {
        self.0.send_modify(|queue| match received {
            Received::Message(message) => queue.counted(message),
            Received::Ended => queue.has_ended = true,
            Received::TimedOut => {}
        });
    }

    /// Whether the call waits, and nothing but a message lets it go on.
    pub fn waits(&self) -> bool {
        self.0.borrow().waits()
    }

    /// Reports changes of the queue, such as that the call waits or goes on.
    pub fn watch(&self) -> SteeringChanges {
        SteeringChanges(self.0.subscribe())
    }

    /// Closes the queue and returns the unread messages: from now on no message is read or accepted. With `waits`, it is closed
    /// only if the call waits for a message; none is returned if the call does not wait any more.
    pub fn close(&self, waits: bool) -> Option<Vec<SteeringMessage>> {
        let mut unread = None;
        self.0.send_if_modified(|queue| {
            // A message may be there that the call has not been woken for yet.
            if !waits || queue.waits() {
                queue.is_closed = true;
                unread = Some(queue.unread.drain(..).collect());
            }
            unread.is_some()
        });
        unread
    }

    pub fn is_closed(&self) -> bool {
        self.0.borrow().is_closed
    }
}

/// Reports that something has changed in a queue.
pub struct SteeringChanges(watch::Receiver<Queue>);

impl SteeringChanges {
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// A receiver waits until this is dropped.
struct Waiting<'a>(&'a Steering);

impl<'a> Waiting<'a> {
    fn new(steering: &'a Steering) -> Self {
        steering.0.send_modify(|queue| queue.waiting += 1);
        Self(steering)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|queue| queue.waiting -= 1);
    }
}

impl Queue {
    fn waits(&self) -> bool {
        self.waiting > 0 && self.unread.is_empty() && !self.has_ended
    }

    fn say(&mut self, message: SteeringMessage) -> Result<Option<u64>, SteeringError> {
        match message.seq {
            Some(_) if self.is_behind => return Err(SteeringError::Closed),
            Some(seq) if seq < self.next => return Ok(Some(self.next)),
            Some(seq) if seq > self.next => return Err(SteeringError::Missing { next: self.next }),
            Some(_) | None => {}
        }
        if self.is_closed {
            return Err(SteeringError::Closed);
        }
        if self.has_ended {
            return Err(SteeringError::Ended);
        }
        if self.unread.len() >= MAX_UNREAD {
            return Err(SteeringError::Full);
        }
        self.counted(&message);
        let counts = message.seq.is_some();
        self.unread.push_back(message);
        Ok(counts.then_some(self.next))
    }

    fn counted(&mut self, message: &SteeringMessage) {
        if let Some(seq) = message.seq {
            self.next = self.next.max(seq.saturating_add(1));
        }
        self.has_ended |= message.end;
    }

    /// The next message with text. A message that only marks the end is skipped.
    fn take(&mut self) -> Option<SteeringMessage> {
        let message = self.unread.pop_front()?;
        if message.text.is_empty() { self.take() } else { Some(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn text(text: impl Into<String>) -> SteeringMessage {
        SteeringMessage { text: text.into(), seq: None, end: false }
    }

    fn numbered(seq: u64, end: bool) -> SteeringMessage {
        SteeringMessage { text: format!("{seq}"), seq: Some(seq), end }
    }

    fn end() -> SteeringMessage {
        SteeringMessage { end: true, ..SteeringMessage::default() }
    }

    #[test]
    fn messages_come_in_order_and_are_bounded() {
        let steering = Steering::default();
        assert_eq!(steering.say(text("")), Err(SteeringError::Length));
        assert_eq!(steering.say(text("x".repeat(MAX_MESSAGE + 1))), Err(SteeringError::Length));
        for at in 0..MAX_UNREAD {
            steering.clone().say(text(at.to_string())).unwrap();
        }
        assert_eq!(steering.say(text("more")), Err(SteeringError::Full));
        assert_eq!((steering.next(), steering.next()), (Some(text("0")), Some(text("1"))));
    }

    #[test]
    fn who_counts_may_send_again_and_leaves_nothing_out() {
        let steering = Steering::default();
        assert_eq!(steering.say(numbered(1, false)), Err(SteeringError::Missing { next: 0 }));
        assert_eq!(steering.say(numbered(0, false)), Ok(Some(1)));
        assert_eq!(steering.say(numbered(0, false)), Ok(Some(1)), "it is there already");
        assert_eq!(steering.say(text("aside")), Ok(None));
        assert_eq!(steering.say(numbered(1, true)), Ok(Some(2)));
        assert_eq!(steering.say(numbered(1, true)), Ok(Some(2)), "also when it was the last");
        assert_eq!(steering.say(text("late")), Err(SteeringError::Ended));
        let read: Vec<_> = std::iter::from_fn(|| steering.next()).map(|message| message.text).collect();
        assert_eq!(read, ["0", "aside", "1"]);
        // The next run has replayed the first message; the others were lost with the process.
        let later = Steering::default();
        later.replayed(&Received::Message(numbered(0, false)));
        assert_eq!(later.say(numbered(2, false)), Err(SteeringError::Missing { next: 1 }));
    }

    #[test]
    fn what_an_earlier_run_has_not_read_comes_first_and_is_bounded() {
        let steering = Steering::resumed();
        assert_eq!(steering.say(numbered(0, false)), Err(SteeringError::Closed), "it is not known yet");
        steering.put_back(numbered(3, false)).unwrap();
        steering.say(text("new")).unwrap();
        steering.replayed(&Received::Message(numbered(2, false)));
        steering.catches_up();
        assert_eq!(steering.say(numbered(3, false)), Ok(Some(4)), "it is there already");
        assert_eq!((steering.next(), steering.next()), (Some(numbered(3, false)), Some(text("new"))));
        (0..MAX_PUT_BACK).for_each(|_| steering.put_back(text("kept")).unwrap());
        assert_eq!(steering.put_back(text("more")), Err(SteeringError::Full));
    }

    #[tokio::test]
    async fn a_receiver_waits_for_a_message_the_end_or_its_time() {
        let steering = Steering::default();
        let receive = |timeout| Box::pin(steering.receive(timeout));
        assert_eq!(receive(Some(Duration::ZERO)).await, Received::TimedOut);
        let mut waits = receive(None);
        assert!((&mut waits).now_or_never().is_none() && steering.waits());
        steering.say(text("go")).unwrap();
        assert_eq!(waits.await, Received::Message(text("go")));
        assert!(!steering.waits());
        let mut waits = receive(None);
        assert!((&mut waits).now_or_never().is_none());
        steering.say(end()).unwrap();
        assert!(!steering.waits(), "it is about to go on");
        assert_eq!(waits.await, Received::Ended);
        assert_eq!(receive(None).await, Received::Ended);
    }

    #[tokio::test]
    async fn what_is_not_read_when_a_call_is_suspended_is_not_lost() {
        let steering = Steering::default();
        let mut waits = Box::pin(steering.receive(None));
        assert!((&mut waits).now_or_never().is_none());
        steering.say(numbered(0, false)).unwrap();
        assert_eq!(steering.close(true), None, "it is about to go on");
        assert_eq!(waits.await, Received::Message(numbered(0, false)));
        let mut waits = Box::pin(steering.receive(None));
        assert!((&mut waits).now_or_never().is_none());
        steering.say(numbered(1, false)).unwrap();
        assert_eq!(steering.close(false), Some(vec![numbered(1, false)]));
        assert!(waits.now_or_never().is_none(), "it reads nothing any more");
        assert!(steering.is_closed() && steering.say(text("late")).is_err());
        assert_eq!(Steering::default().close(true), None, "nobody waits");
    }
}
