//! Counts what a server makes this host keep for its connection. Calls of clients are charged for what they get; this is for
//! what a server sends that nobody has asked for.

use crate::server_input::text::single_line;
use platform::sync::Mutex;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// Memory of a server's requests that are not answered yet, in bytes. Bounds a server that asks and never reads an answer.
const MAX_PENDING: usize = 16 << 20;
/// What a request takes besides its text, in bytes: the tasks that handle it and send its answer.
const REQUEST: usize = 4 << 10;
/// Log lines about unreadable messages of one connection. After these, a line is logged at each power of two.
const MAX_TOLD: u64 = 8;

/// The account of one connection. When it is overdrawn, the connection ends.
pub(crate) struct PeerAccount {
    server: String,
    pending: Mutex<Pending>,
    /// Whether a request no longer counts once the server cancels it. In 2026-07-28 it is answered all the same.
    ends_cancelled: AtomicBool,
    unreadable: AtomicU64,
    /// Bytes of the pages of the list that is being read.
    listed: AtomicU64,
    reason: Mutex<Option<String>>,
    closed: CancellationToken,
}

#[derive(Default)]
struct Pending {
    requests: HashMap<RequestId, usize>,
    bytes: usize,
}

impl PeerAccount {
    pub(crate) fn new(server: &str) -> Arc<Self> {
        let (pending, ends_cancelled, unreadable, listed, reason, closed) = Default::default();
        Arc::new(Self { server: server.to_owned(), pending, ends_cancelled, unreadable, listed, reason, closed })
    }

    /// Counts a request of this many bytes. False if it must not be served: its id is in use, or there is no room.
    pub(crate) fn begin(&self, id: &RequestId, bytes: usize) -> bool {
        let bytes = bytes.saturating_add(REQUEST);
        let mut pending = self.pending.lock();
        let all = pending.bytes.saturating_add(bytes);
        if all > MAX_PENDING {
            let count = pending.requests.len();
            drop(pending);
            self.close(format!("{count} of its requests wait for it to read their answers, and take {all} bytes"));
            return false;
        }
        match pending.requests.entry(id.clone()) {
            // Whichever answer came first would be taken for that of both.
            Entry::Occupied(_) => return false,
            Entry::Vacant(free) => free.insert(bytes),
        };
        pending.bytes = all;
        true
    }

    /// Counts an answer that is about to be sent, until it is sent. It counts even if its request was cancelled before.
    pub(crate) fn answer(&self, id: &RequestId) {
        let is_counted = self.pending.lock().requests.contains_key(id);
        if !is_counted {
            let length = match id {
                RequestId::String(text) => text.len(),
                RequestId::Number(_) => 0,
            };
            self.begin(id, length);
        }
    }

    /// From now on, requests that the server cancels do not count any more.
    pub(crate) fn end_cancelled(&self) {
        self.ends_cancelled.store(true, Ordering::Relaxed);
    }

    /// The server does not want an answer any more.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if self.ends_cancelled.load(Ordering::Relaxed) {
            self.end(id);
        }
    }

    /// The answer has been sent.
    pub(crate) fn end(&self, id: &RequestId) {
        let mut pending = self.pending.lock();
        if let Some(bytes) = pending.requests.remove(id) {
            pending.bytes -= bytes;
        }
    }

    /// Ends the connection. The first reason counts.
    pub(crate) fn close(&self, reason: String) {
        self.reason.lock().get_or_insert(reason);
        self.closed.cancel();
    }

    /// Why the connection was ended by this side.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Returns when the connection is to end.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Cancelled when the connection is to end.
    pub(crate) fn child_token(&self) -> CancellationToken {
        self.closed.child_token()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Begins to count a list that is requested page by page.
    pub(crate) fn begin_list(&self) {
        self.listed.store(0, Ordering::Relaxed);
    }

    /// Counts a page of this many bytes.
    pub(crate) fn count_list(&self, bytes: u64) {
        self.listed.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn listed_bytes(&self) -> u64 {
        self.listed.load(Ordering::Relaxed)
    }

    /// Logs that a message cannot be read, and shows its beginning.
    pub(crate) fn log_unreadable(&self, text: &str, reason: &str) {
        let count = self.unreadable.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= MAX_TOLD || count.is_power_of_two() {
            let (server, shown) = (&self.server, beginning(text));
            tracing::warn!(server, count, "a message of the server cannot be read: {}: {shown}", single_line(reason));
        }
    }
}

/// Enough of a text to recognise it.
pub(crate) fn beginning(text: &str) -> String {
    const SHOWN: usize = 200;
    let shown = platform::text::truncate(text, SHOWN);
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{more}", single_line(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_reads_no_answers_is_disconnected() {
        let account = PeerAccount::new("far");
        let id = |number| RequestId::Number(number);
        let many = (MAX_PENDING / (REQUEST + (1 << 20))) as i64;
        assert!((0..many).all(|at| account.begin(&id(at), 1 << 20)));
        assert!(!account.begin(&id(0), 0), "its id is in use");
        account.end(&id(0));
        account.end(&id(0));
        assert!(account.begin(&id(0), 1 << 20) && !account.is_closed());
        assert!(!account.begin(&id(many), 1 << 20) && account.is_closed());
        let reason = account.reason().unwrap();
        assert!(reason.starts_with(&format!("{many} of its requests wait")), "{reason}");
        account.close("later".into());
        assert_eq!(account.reason(), Some(reason));
    }

    #[test]
    fn answers_to_cancelled_requests_count_while_they_are_sent() {
        let account = PeerAccount::new("far");
        account.end_cancelled();
        // Twice as many as there is room for.
        for at in 0..2 * (MAX_PENDING >> 20) {
            let id = RequestId::String(format!("{at}-{}", "x".repeat(1 << 20)).into());
            if !account.begin(&id, 1 << 20) {
                break;
            }
            account.cancel(&id);
            account.answer(&id);
        }
        assert!(account.is_closed());
    }

    #[test]
    fn cancelled_requests_count_where_they_are_answered_all_the_same() {
        let account = PeerAccount::new("far");
        for at in 0..2 * (MAX_PENDING / REQUEST) as i64 {
            account.begin(&RequestId::Number(at), 0);
            account.cancel(&RequestId::Number(at));
        }
        assert!(account.is_closed());
    }

    #[test]
    fn small_requests_count_too() {
        let account = PeerAccount::new("far");
        let served = (0..1_000_000).take_while(|at| account.begin(&RequestId::Number(*at), 1)).count();
        assert!(served <= MAX_PENDING / REQUEST, "{served}");
    }
}
