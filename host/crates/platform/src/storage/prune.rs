//! Removes old sessions and streams, never those of running calls.

use rusqlite::{Connection, OptionalExtension};

/// An idle session ends after this time.
const SESSION_SECONDS: i64 = 24 * 3_600;
/// A session without a handshake ends after this time.
const HANDSHAKE_SECONDS: i64 = 120;
/// How long a response is kept for a client that lost its connection.
const ANSWER_SECONDS: i64 = 3_600;
/// Size of all ended streams together. Bounds the file. Running streams are bounded by the output limit of their calls.
const MAX_BYTES: i64 = 256 << 20;

pub(super) fn prune(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM session WHERE used < ?1 OR (handshake IS NULL AND used < ?2)";
    connection.prepare_cached(sql)?.execute((now - SESSION_SECONDS, now - HANDSHAKE_SECONDS))?;
    connection.prepare_cached("DELETE FROM stream WHERE ended < ?1")?.execute([now - ANSWER_SECONDS])?;
    shrink(connection, MAX_BYTES)
}

/// Removes ended streams, oldest first, until the rest fits into `max` bytes.
pub(super) fn shrink(connection: &Connection, max: i64) -> rusqlite::Result<()> {
    let sql = "SELECT coalesce(sum(bytes), 0) FROM stream WHERE ended IS NOT NULL";
    let mut bytes: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    while bytes > max {
        let sql = "DELETE FROM stream WHERE id = (SELECT id FROM stream WHERE ended IS NOT NULL ORDER BY ended, id LIMIT 1) RETURNING bytes";
        match connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).optional()? {
            Some(gone) => bytes -= gone,
            None => break,
        }
    }
    Ok(())
}
