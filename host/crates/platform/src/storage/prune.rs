//! What is old, or too much, is removed. Running calls are never touched.

use rusqlite::{Connection, OptionalExtension};

/// A session nobody used for so long is over.
const SESSION_SECONDS: i64 = 24 * 3_600;
/// A client that came and did not introduce itself is gone.
const HANDSHAKE_SECONDS: i64 = 120;
/// How long an answer waits for a client that lost its connection.
const ANSWER_SECONDS: i64 = 3_600;
/// All ended streams together: bounds the file. Running ones are bounded by what a call may say.
const MAX_BYTES: i64 = 256 << 20;

pub(super) fn prune(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM session WHERE used < ?1 OR (handshake IS NULL AND used < ?2)";
    connection.prepare_cached(sql)?.execute((now - SESSION_SECONDS, now - HANDSHAKE_SECONDS))?;
    connection.prepare_cached("DELETE FROM stream WHERE ended < ?1")?.execute([now - ANSWER_SECONDS])?;
    shrink(connection, MAX_BYTES)
}

/// Removes ended streams, oldest first, until the rest fits.
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
