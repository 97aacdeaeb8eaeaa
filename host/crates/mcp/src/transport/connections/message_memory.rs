//! Counts the messages that connections hold in memory: requests that are arriving or being served, and responses that clients
//! have not read yet. Their sum is bounded, because each of thousands of connections could hold some MiB.

use platform::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that each connection, or over stdio each request, may hold without being counted, so that ordinary requests are always
/// served, whatever large ones hold.
pub(in crate::transport) const UNCOUNTED: usize = 64 << 10;
/// Bytes that all connections together may hold beyond that.
pub(in crate::transport) const MAX_HELD: usize = 256 << 20;

/// The sum of the counted bytes over all connections.
pub(in crate::transport) struct MessageMemory {
    limit: usize,
    held: AtomicUsize,
}

/// Counts this many bytes until it is dropped.
pub(in crate::transport) struct HeldBytes {
    memory: Arc<MessageMemory>,
    bytes: usize,
}

/// Counts what one connection holds, until this is dropped.
pub(in crate::transport) struct HeldMessages {
    memory: Arc<MessageMemory>,
    amounts: Mutex<Amounts>,
}

#[derive(Default)]
struct Amounts {
    request: usize,
    answers: Answers,
    counted: usize,
}

/// The parts of responses since the client had last read everything. A part is in memory until all of it is read.
#[derive(Default)]
struct Answers {
    unread: usize,
    all: usize,
    largest: usize,
}

impl Answers {
    fn add(&mut self, part: usize) {
        self.unread = self.unread.saturating_add(part);
        self.all = self.all.saturating_add(part);
        self.largest = self.largest.max(part);
    }

    fn read(&mut self, bytes: usize) {
        self.unread = self.unread.saturating_sub(bytes);
        if self.unread == 0 {
            *self = Self::default();
        }
    }

    fn held(&self) -> usize {
        self.all.min(self.unread.saturating_add(self.largest))
    }
}

impl MessageMemory {
    pub(in crate::transport) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0) })
    }

    pub(in crate::transport) fn hold(self: &Arc<Self>, bytes: usize) -> HeldBytes {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        HeldBytes { memory: self.clone(), bytes }
    }

    /// Whether the sum is above the limit, so that a connection has to be closed.
    pub(in crate::transport) fn is_exceeded(&self) -> bool {
        self.held.load(Ordering::Relaxed) > self.limit
    }
}

impl HeldMessages {
    pub(in crate::transport) fn new(memory: Arc<MessageMemory>) -> Self {
        Self { memory, amounts: Mutex::default() }
    }

    fn change(&self, change: impl FnOnce(&mut Amounts)) {
        let mut amounts = self.amounts.lock();
        change(&mut amounts);
        let counted = amounts.request.saturating_add(amounts.answers.held()).saturating_sub(UNCOUNTED);
        // The subtraction wraps around if the amount is less than before, and so does the sum, so the result is right.
        self.memory.held.fetch_add(counted.wrapping_sub(amounts.counted), Ordering::Relaxed);
        amounts.counted = counted;
    }

    /// This many bytes of a request have arrived, and the request is not served yet.
    pub(in crate::transport) fn set_request(&self, bytes: usize) {
        self.change(|amounts| amounts.request = bytes);
    }

    /// A part of a response is about to be sent.
    pub(in crate::transport) fn add_unread(&self, bytes: usize) {
        self.change(|amounts| amounts.answers.add(bytes));
    }

    /// The client, or the operating system for it, has read this many bytes.
    pub(in crate::transport) fn remove_unread(&self, bytes: usize) {
        self.change(|amounts| amounts.answers.read(bytes));
    }

    /// Bytes of this connection that are counted in the sum.
    pub(in crate::transport) fn counted(&self) -> usize {
        self.amounts.lock().counted
    }

    /// Whether its client leaves so much of its responses unread that they are counted.
    pub(in crate::transport) fn is_unread(&self) -> bool {
        self.amounts.lock().answers.held() > UNCOUNTED
    }

    /// Stops counting the connection, because it is being closed.
    pub(in crate::transport) fn release(&self) {
        self.change(|amounts| (amounts.request, amounts.answers) = Default::default());
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.memory.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for HeldMessages {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connections_hold_beyond_a_little_is_counted_together() {
        let memory = MessageMemory::new(100);
        let [one, two] = [(); 2].map(|()| HeldMessages::new(memory.clone()));
        one.set_request(UNCOUNTED);
        two.add_unread(UNCOUNTED + 60);
        assert!(!memory.is_exceeded() && two.is_unread() && !one.is_unread());
        one.set_request(UNCOUNTED + 41);
        assert!(memory.is_exceeded());
        assert_eq!((one.counted(), two.counted()), (41, 60));
        two.remove_unread(UNCOUNTED);
        assert_eq!(two.counted(), 60, "it is in memory as a whole");
        two.remove_unread(60);
        assert!(!memory.is_exceeded() && two.counted() == 0);
        two.add_unread(UNCOUNTED);
        two.add_unread(10);
        two.remove_unread(UNCOUNTED + 5);
        two.add_unread(7);
        assert_eq!(two.counted(), 12, "never more than what is unread and one part");
        two.release();
        two.remove_unread(1_000);
        drop(one);
        let request = memory.hold(101);
        assert!(memory.is_exceeded());
        drop(request);
        assert_eq!(memory.held.load(Ordering::Relaxed), 0);
    }
}
