//! Opens the database of sessions: it must be private to its user, locked by one process, intact and of a known format.

use super::error::StorageError;
use crate::files::create_private_folder;
use rusqlite::Connection;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

pub(super) const FILE: &str = "portcullis.db";
/// Version of the format of the tables.
pub(super) const FORMAT: i64 = 1;
/// How long to wait for a previous process that is about to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// `AUTOINCREMENT` ensures that the id of a removed stream is not reused while somebody still writes to it.
const TABLES: &str = "
CREATE TABLE session (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    handshake TEXT,          -- what the client said when it came; null until it has said it
    used INTEGER NOT NULL    -- seconds since 1970
) STRICT, WITHOUT ROWID;
CREATE INDEX session_of ON session (principal, used);
CREATE TABLE stream (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
    request TEXT,                        -- the request it answers; null: the session's own stream
    last INTEGER NOT NULL DEFAULT 0,     -- number of its last event
    pruned INTEGER NOT NULL DEFAULT 0,   -- events up to this number are gone
    bytes INTEGER NOT NULL,
    ended INTEGER                        -- seconds since 1970
) STRICT;
CREATE INDEX stream_of ON stream (session, ended);
CREATE INDEX stream_ended ON stream (ended);
CREATE TABLE event (
    stream INTEGER NOT NULL REFERENCES stream ON DELETE CASCADE,
    number INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (stream, number)
) STRICT;
";

/// Created separately from the other tables, so that earlier versions of this program can still open the file.
const WAITING: &str = "
CREATE TABLE IF NOT EXISTS waiting (
    stream INTEGER PRIMARY KEY REFERENCES stream ON DELETE CASCADE,
    call BLOB NOT NULL
) STRICT;
";

/// Creates the folder if it is missing, and checks that only its user can write to it.
pub(super) fn private(folder: &Path) -> Result<(), StorageError> {
    create_private_folder(folder)
        .map_err(|error| StorageError::Folder { path: folder.to_owned(), problem: error.to_string() })
}

pub(super) fn open(folder: &Path) -> Result<Connection, StorageError> {
    private(folder)?;
    let path = folder.join(FILE);
    let broken = |error: rusqlite::Error| StorageError::opening(&path, &error);
    make(&path)?;
    let mut connection = Connection::open(&path).map_err(broken)?;
    settle(&connection).map_err(broken)?;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(broken)?;
    if found > FORMAT {
        return Err(StorageError::Newer { path, found, known: FORMAT });
    }
    if found < FORMAT {
        let making = connection.transaction().map_err(broken)?;
        making.execute_batch(TABLES).map_err(broken)?;
        making.pragma_update(None, "user_version", FORMAT).map_err(broken)?;
        making.commit().map_err(broken)?;
    }
    connection.execute_batch(WAITING).map_err(broken)?;
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(broken)?;
    if sound != "ok" {
        return Err(StorageError::Broken { path, problem: sound });
    }
    Ok(connection)
}

pub(super) fn make(path: &Path) -> Result<(), StorageError> {
    make_private(path).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::NoRoom { path: path.to_owned() },
        _ => StorageError::Broken { path: path.to_owned(), problem: error.to_string() },
    })
}

/// Creates the file if it is missing, because SQLite would let others read it. SQLite gives its other files the same
/// permissions. An existing file is not opened: if this process already uses it, closing it again would release SQLite's locks.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Locks the file for this process: if two servers used it, each would regard the running calls of the other as abandoned. A
/// commit survives a crash of this process immediately, and a crash of the machine after some seconds.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Avoids temporary files in a shared folder.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The write-ahead log shrinks again after it has become long.
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Takes the lock and checks that the file is writable.
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
    connection.pragma_update(
        None,
        "user_version",
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?,
    )
}
