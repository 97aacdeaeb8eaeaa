//! The file of the durable store: its tables, and how it is opened.

use super::durable_limits::DurableLimits;
use super::error::StorageError;
use super::open::{make, private};
use super::repairable_connection::{PAGE, PATIENCE, WAL_BYTES, WalLength, synchronous};
use crate::durable::Durability;
use rusqlite::{Connection, TransactionBehavior};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub(super) const FILE: &str = "durable.db";
/// Version of the format of the tables.
pub(super) const FORMAT: i64 = 1;
/// A larger file is not checked when it is opened, because a server would take long to start. `portcullis storage check` checks
/// it.
const CHECKED_BYTES: u64 = 64 << 20;

/// `AUTOINCREMENT` ensures that a revision or a token is never reused. Entries have no row id, so that the entries of a log are
/// stored together.
const TABLES: &str = "
CREATE TABLE record (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    first INTEGER NOT NULL,       -- number of the first entry that was not trimmed
    next INTEGER NOT NULL,        -- number of the next entry
    bytes INTEGER NOT NULL,       -- of all entries
    token INTEGER NOT NULL        -- the highest that it has seen
) STRICT;
CREATE TABLE entry (
    log INTEGER NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (log, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE lease (
    token INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,       -- milliseconds for which the machine is awake then
    time INTEGER NOT NULL         -- milliseconds for which it was taken or renewed
) STRICT;
CREATE INDEX lease_until ON lease (until);
CREATE TABLE repair (times INTEGER NOT NULL) STRICT;
INSERT INTO repair VALUES (0);
";

/// The open file, with one connection that writes and one that only reads.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) writer: Connection,
    pub(super) reader: Connection,
}

/// Opens the file in the state folder and creates both if they are missing, private to this user. Blocks.
pub(super) fn open(folder: &Path, limits: &DurableLimits, wal: &WalLength) -> Result<Opened, StorageError> {
    private(folder)?;
    let path = folder.join(FILE);
    make(&path)?;
    let unusable = |error: std::io::Error| StorageError::Folder { path: folder.to_owned(), problem: error.to_string() };
    let opened = File::open(folder).map_err(unusable)?;
    // If two processes create the same file, SQLite reports to one of them immediately that it is locked. This lock prevents
    // that.
    opened.lock().map_err(unusable)?;
    // The name of the file must survive a loss of power, like its contents.
    opened.sync_all().map_err(unusable)?;
    let broken = |error: rusqlite::Error| StorageError::opening(&path, &error);
    let mut writer = connect(&path, limits).map_err(broken)?;
    let making = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let found: i64 = making.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(broken)?;
    if found > FORMAT {
        return Err(StorageError::Newer { path, found, known: FORMAT });
    }
    if found < FORMAT {
        making.execute_batch(TABLES).map_err(broken)?;
        making.pragma_update(None, "user_version", FORMAT).map_err(broken)?;
    }
    making.commit().map_err(broken)?;
    if fs::metadata(&path).map_err(unusable)?.len() <= CHECKED_BYTES {
        let sound: String = writer.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(broken)?;
        if sound != "ok" {
            return Err(StorageError::Broken { path, problem: sound });
        }
    }
    wal.watch(&mut writer).map_err(broken)?;
    let reader = connect(&path, limits).map_err(broken)?;
    reader.pragma_update(None, "query_only", true).map_err(broken)?;
    Ok(Opened { path, writer, reader })
}

/// Opens the file for writing after an error of the disk. Data that was written before may be only in the kernel's memory,
/// where it counts as written. So the write-ahead log is copied into the file and emptied, which also drops what a failed
/// commit left there. Then something is written.
pub(super) fn repair(path: &Path, limits: &DurableLimits, wal: &WalLength) -> Result<Connection, StorageError> {
    let mut connection = connect(path, limits)?;
    wal.watch(&mut connection)?;
    let waiting: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if waiting {
        return Err(StorageError::Sql("another process reads it all the time".to_owned()));
    }
    connection.execute("UPDATE repair SET times = times + 1", [])?;
    Ok(connection)
}

fn connect(path: &Path, limits: &DurableLimits) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous(Durability::Power))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Avoids temporary files in a shared folder.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The thread of the store copies the write-ahead log into the file. A log that became longer than this limit is cut again.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES)?;
    let pages = i64::try_from(limits.file / u64::from(PAGE.unsigned_abs())).unwrap_or(i64::MAX);
    connection.pragma_update(None, "max_page_count", pages)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}
