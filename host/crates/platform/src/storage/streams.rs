//! Streams and their events, which are numbered from 1 and can be replayed from any number.

use super::error::StorageError;
use super::session_store::SessionStore;
use super::worker::{PendingResult, RejectedJob};
use rusqlite::{Connection, OptionalExtension, Row};
use std::sync::atomic::Ordering;

/// Bytes that a stream without events counts, so that many empty streams count too.
const STREAM_BYTES: u32 = 512;
/// Ended streams that are kept per session. A client that has more sends requests without reading the responses.
const KEPT_ENDED: u32 = 64;
/// Limits of one page of events, for a reader that catches up. Bounds its memory.
const PAGE_EVENTS: u32 = 64;
const PAGE_BYTES: usize = 1 << 20;

/// Bytes of calls that wait to be stored. Nobody waits until they are stored, so this bounds the memory that a slow disk costs.
const MAX_QUEUED_CALLS: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKey(i64);

/// What the store knows about a stream.
#[derive(Debug, PartialEq)]
pub struct StreamRecord {
    pub key: StreamKey,
    /// The request it answers; `None` for the session's own stream.
    pub request: Option<String>,
    /// Number of its last event; 0 if there is none.
    pub last: u32,
    /// Events up to this number were removed.
    pub pruned: u32,
    pub ended: bool,
}

/// A stream whose call waits for its client. The call continues in whichever process the client returns to.
pub struct WaitingStream {
    pub token: String,
    pub record: StreamRecord,
    /// The data that is needed to continue the call.
    pub call: Vec<u8>,
}

#[derive(Debug, PartialEq)]
pub struct StreamEvent {
    /// Its number in its stream.
    pub number: u32,
    pub message: String,
}

fn record(row: &Row<'_>) -> rusqlite::Result<StreamRecord> {
    Ok(StreamRecord {
        key: StreamKey(row.get(0)?),
        request: row.get(1)?,
        last: row.get(2)?,
        pruned: row.get(3)?,
        ended: row.get(4)?,
    })
}

const RECORD: &str = "SELECT id, request, last, pruned, ended IS NOT NULL FROM stream";

impl SessionStore {
    /// Opens the stream that answers a request.
    pub fn open_stream(&self, session: String, token: String, request: String) -> PendingResult<StreamKey> {
        self.worker.ask(move |connection| insert(connection, &session, &token, Some(&request)))
    }

    /// The session's own stream and its token. Opens the stream if there is none.
    pub fn own_stream(&self, session: String, token: String) -> PendingResult<(String, StreamRecord)> {
        self.worker.ask(move |connection| {
            let sql = "SELECT token FROM stream WHERE session = ?1 AND request IS NULL";
            let found: Option<String> =
                connection.prepare_cached(sql)?.query_row([&session], |row| row.get(0)).optional()?;
            let token = match found {
                Some(token) => token,
                None => insert(connection, &session, &token, None).map(|_| token.clone())?,
            };
            let sql = format!("{RECORD} WHERE token = ?1");
            let record = connection.prepare_cached(&sql)?.query_row([&token], record)?;
            Ok((token, record))
        })
    }

    /// A stream of this session by its token. Tokens of other sessions are not found.
    pub fn find_stream(&self, session: String, token: String) -> PendingResult<Option<StreamRecord>> {
        self.worker.ask(move |connection| {
            let sql = format!("{RECORD} WHERE session = ?1 AND token = ?2");
            connection.prepare_cached(&sql)?.query_row((&session, &token), record).optional()
        })
    }

    /// Appends an event, which is the last one if `end` is true. Events up to `prune` are removed. `done` is called in the
    /// order of these calls.
    pub fn append(
        &self,
        stream: StreamKey,
        event: StreamEvent,
        end: bool,
        prune: u32,
        done: impl FnOnce(Result<(), StorageError>) + Send + 'static,
    ) -> Option<RejectedJob> {
        let ended = end.then(|| self.now());
        self.worker.tell(move |connection| append(connection, stream, &event, ended, prune), done)
    }

    /// Ends a stream without a last event.
    pub fn end_stream(&self, stream: StreamKey) -> PendingResult<()> {
        let now = self.now();
        self.worker.ask(move |connection| end(connection, stream, now))
    }

    /// A page of events after this number.
    pub fn events(&self, stream: StreamKey, after: u32) -> PendingResult<Vec<StreamEvent>> {
        self.worker.ask(move |connection| {
            let sql = "SELECT number, message FROM event WHERE stream = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
            let mut select = connection.prepare_cached(sql)?;
            let mut rows = select.query((stream.0, after, PAGE_EVENTS))?;
            let (mut page, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let event = StreamEvent { number: row.get(0)?, message: row.get(1)? };
                bytes += event.message.len();
                page.push(event);
                if bytes > PAGE_BYTES {
                    break;
                }
            }
            Ok(page)
        })
    }

    /// Stores a call that waits for its client, before any events that are appended later. Returns false if too much waits to
    /// be stored already.
    pub fn keep_waiting(&self, stream: StreamKey, call: Vec<u8>) -> bool {
        let (bytes, queued) = (call.len(), self.queued_calls.clone());
        if queued.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_QUEUED_CALLS {
            queued.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        let job = move |connection: &Connection| {
            let sql = "INSERT OR REPLACE INTO waiting (stream, call)
                SELECT id, ?2 FROM stream WHERE id = ?1 AND ended IS NULL";
            connection.prepare_cached(sql)?.execute((stream.0, &call)).map(|_| ())
        };
        let done = move |stored: Result<(), StorageError>| {
            queued.fetch_sub(bytes, Ordering::Relaxed);
            if let Err(error) = stored {
                tracing::warn!(%error, "a call that waits for its client ends with this process");
            }
        };
        // If the store is closed, the call is not kept.
        drop(self.worker.tell(job, done));
        true
    }

    /// Removes the stored call, because it does not wait any more and the stored data is outdated.
    pub fn forget_waiting(&self, stream: StreamKey) -> PendingResult<()> {
        self.worker.ask(move |connection| {
            connection.prepare_cached("DELETE FROM waiting WHERE stream = ?1")?.execute([stream.0]).map(|_| ())
        })
    }

    /// The streams of a session whose calls wait for its client.
    pub fn waiting(&self, session: String) -> PendingResult<Vec<WaitingStream>> {
        self.worker.ask(move |connection| {
            let sql = "SELECT id, request, last, pruned, ended IS NOT NULL, token, call
                FROM stream JOIN waiting ON stream = id WHERE session = ?1 AND ended IS NULL ORDER BY id";
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_map([&session], |row| {
                Ok(WaitingStream { record: record(row)?, token: row.get(5)?, call: row.get(6)? })
            })?;
            found.collect()
        })
    }

    /// Ends all streams that a crashed process left open, each with a last event that is made from its request. Streams whose
    /// calls wait for their clients stay open.
    pub fn end_abandoned(&self, last_word: impl Fn(&str) -> String + Send + 'static) -> PendingResult<usize> {
        let now = self.now();
        self.worker.ask(move |connection| {
            let sql = format!(
                "{RECORD} WHERE ended IS NULL AND request IS NOT NULL AND id NOT IN (SELECT stream FROM waiting)"
            );
            let mut select = connection.prepare_cached(&sql)?;
            let open: Vec<StreamRecord> = select.query_map([], record)?.collect::<rusqlite::Result<_>>()?;
            for stream in &open {
                let message = last_word(stream.request.as_deref().unwrap_or_default());
                append(connection, stream.key, &StreamEvent { number: stream.last + 1, message }, Some(now), 0)?;
            }
            Ok(open.len())
        })
    }
}

fn insert(connection: &Connection, session: &str, token: &str, request: Option<&str>) -> rusqlite::Result<StreamKey> {
    let sql = "INSERT INTO stream (token, session, request, bytes) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.insert((token, session, request, STREAM_BYTES)).map(StreamKey)
}

fn append(
    connection: &Connection,
    stream: StreamKey,
    event: &StreamEvent,
    ended: Option<i64>,
    prune: u32,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO event (stream, number, message) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute((stream.0, event.number, &event.message))?;
    let mut bytes = i64::try_from(event.message.len()).unwrap_or(i64::MAX);
    if prune > 0 {
        let sql = "DELETE FROM event WHERE stream = ?1 AND number <= ?2 RETURNING octet_length(message)";
        let mut delete = connection.prepare_cached(sql)?;
        for gone in delete.query_map((stream.0, prune), |row| row.get::<_, i64>(0))? {
            bytes -= gone?;
        }
    }
    let sql = "UPDATE stream SET last = ?2, bytes = bytes + ?3, pruned = max(pruned, ?4) WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((stream.0, event.number, bytes, prune))?;
    ended.map_or(Ok(()), |now| end(connection, stream, now))
}

fn end(connection: &Connection, stream: StreamKey, now: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE stream SET ended = ?2 WHERE id = ?1 AND ended IS NULL";
    connection.prepare_cached(sql)?.execute((stream.0, now))?;
    connection.prepare_cached("DELETE FROM waiting WHERE stream = ?1")?.execute([stream.0])?;
    let sql = "DELETE FROM stream WHERE id IN (
        SELECT id FROM stream WHERE session = (SELECT session FROM stream WHERE id = ?1) AND ended IS NOT NULL
        ORDER BY ended DESC, id DESC LIMIT -1 OFFSET ?2)";
    connection.prepare_cached(sql)?.execute((stream.0, KEPT_ENDED)).map(|_| ())
}
