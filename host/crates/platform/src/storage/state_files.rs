//! The databases in a state folder, for commands that check or copy them while a server may be running.

use super::error::StorageError;
use super::{durable_tables, open, token_store, value_tables};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long to wait for a server that is writing. A server that uses a file exclusively keeps it much longer.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct StateFile {
    pub(super) name: &'static str,
    /// A description of the contents.
    pub(super) content: &'static str,
    pub(super) format: i64,
    /// What is counted, each with the query that counts it.
    pub(super) counts: &'static [(&'static str, &'static str)],
    /// Queries that find contradictions: each row is a problem.
    pub(super) contradictions: &'static [&'static str],
    /// Whether the file is worth a copy.
    pub(super) is_copied: bool,
}

pub(super) const STATE_FILES: &[StateFile] = &[
    StateFile {
        name: durable_tables::FILE,
        content: "long-running work",
        format: durable_tables::FORMAT,
        counts: &[
            ("records", "SELECT count(*) FROM record"),
            ("logs", "SELECT count(*) FROM log"),
            ("entries of logs", "SELECT count(*) FROM entry"),
            ("leases", "SELECT count(*) FROM lease"),
            ("repairs after errors of the disk", "SELECT sum(times) FROM repair"),
        ],
        contradictions: &[
            "SELECT format('the log %s should have the entries %d to %d, and has %d of %d to %d',
                name, first, next - 1, count(number), ifnull(min(number), 0), ifnull(max(number), 0))
            FROM log LEFT JOIN entry ON entry.log = log.id GROUP BY log.id
            HAVING count(number) <> next - first OR min(number) <> first OR max(number) <> next - 1",
            "SELECT format('%d entries belong to no log', count(*))
            FROM entry WHERE log NOT IN (SELECT id FROM log) HAVING count(*) > 0",
        ],
        is_copied: true,
    },
    StateFile {
        name: value_tables::FILE,
        content: "values of plugins",
        format: value_tables::FORMAT,
        counts: &[("owners", "SELECT count(*) FROM part"), ("values", "SELECT count(*) FROM item")],
        contradictions: &[],
        is_copied: true,
    },
    StateFile {
        name: token_store::FILE,
        content: "connected accounts",
        format: 0,
        counts: &[("credentials", "SELECT count(*) FROM token")],
        contradictions: &[],
        is_copied: true,
    },
    StateFile {
        name: open::FILE,
        content: "sessions of the older protocol",
        format: open::FORMAT,
        counts: &[("sessions", "SELECT count(*) FROM session"), ("events", "SELECT count(*) FROM event")],
        contradictions: &[],
        is_copied: false,
    },
];

/// Opens an existing file for reading.
pub(super) fn read_only(path: &Path) -> Result<Connection, StorageError> {
    // SQLite must be able to write: reading a write-ahead log creates its index file.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // This is the first statement that needs a lock on the file.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    opened.map_err(|error| unreadable(path, &error))
}

pub(super) fn unreadable(path: &Path, error: &rusqlite::Error) -> StorageError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageError::InUse { path: path.to_owned() },
        _ => StorageError::Unreadable { path: path.to_owned(), problem: error.to_string() },
    }
}
