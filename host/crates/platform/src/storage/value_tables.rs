//! The file of the values of plugins: its tables, and the conversion from the previous format.

use super::error::StorageError;
use super::open::{make, private};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

pub(super) const FILE: &str = "values.db";
/// Version of the format of the tables.
pub(super) const FORMAT: i64 = 2;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// A part is kept when its last value is removed: versions must not be reused, or a compare-and-swap could mistake a new value
/// for an old one. `changed` orders the changes of all parts. It is never shown, because it would reveal how often others
/// write.
const TABLES: &str = "
CREATE TABLE part (
    id INTEGER PRIMARY KEY,
    plugin TEXT NOT NULL,
    principal TEXT NOT NULL,
    label TEXT NOT NULL,                  -- lines
    bytes INTEGER NOT NULL DEFAULT 0,     -- of all keys and values
    keys INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL,             -- of the last change
    UNIQUE (plugin, principal, label)
) STRICT;
CREATE TABLE item (
    changed INTEGER PRIMARY KEY AUTOINCREMENT,
    part INTEGER NOT NULL REFERENCES part ON DELETE CASCADE,
    key TEXT NOT NULL,
    value BLOB,                           -- NULL: removed, though another part has it
    version INTEGER NOT NULL,
    UNIQUE (part, key)
) STRICT;
";

/// Format 1 had one part for each plugin and principal, and a label on each value.
const FROM_FORMAT_1: &str = "
INSERT INTO part (plugin, principal, label, bytes, keys, version)
    SELECT plugin, principal, label, sum(octet_length(key) + length(value)), count(*),
        CASE label WHEN '' THEN max(owner.version) ELSE abs(random() / 4) END
    FROM value JOIN owner ON owner.id = owner GROUP BY plugin, principal, label;
INSERT OR IGNORE INTO part (plugin, principal, label, version) SELECT plugin, principal, '', version FROM owner;
INSERT INTO item (part, key, value, version)
    SELECT part.id, key, value, value.version FROM value JOIN owner ON owner.id = owner
    JOIN part ON part.plugin = owner.plugin AND part.principal = owner.principal AND part.label = value.label
    ORDER BY value.version;
DROP TABLE value;
DROP TABLE owner;
";

/// Opens the file in the state folder and creates both if they are missing, private to this user. Returns a connection that
/// writes and one that only reads. Blocks.
pub(super) fn open_values(folder: &Path) -> Result<(Connection, Connection), StorageError> {
    private(folder)?;
    let path = folder.join(FILE);
    make(&path)?;
    let broken = |error: rusqlite::Error| StorageError::opening(&path, &error);
    let mut writer = connect(&path).map_err(broken)?;
    let making = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let found: i64 = making.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(broken)?;
    if found > FORMAT {
        return Err(StorageError::Newer { path, found, known: FORMAT });
    }
    if found < FORMAT {
        making.execute_batch(TABLES).map_err(broken)?;
        if found == 1 {
            making.execute_batch(FROM_FORMAT_1).map_err(broken)?;
        }
        making.pragma_update(None, "user_version", FORMAT).map_err(broken)?;
    }
    making.commit().map_err(broken)?;
    let sound: String = writer.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(broken)?;
    if sound != "ok" {
        return Err(StorageError::Broken { path, problem: sound });
    }
    let reader = connect(&path).map_err(broken)?;
    reader.pragma_update(None, "query_only", true).map_err(broken)?;
    Ok((writer, reader))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit is on the disk when it returns, so confirmed writes survive a crash of the machine.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(connection)
}
