//! Values that plugins keep, by plugin and principal. What they mean is nobody's business here.
//!
//! A file of its own: unlike sessions, several processes of one user may share it. One thread writes, with one commit for
//! everything that waits, and one reads, so that a reader does not wait for the disk. A write that is answered is on it.

use super::StorageError;
use super::open::{make, private};
use super::thread::{Pending, Worker};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "values.db";
/// Format of the tables.
const FORMAT: i64 = 1;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// An owner stays when its last value goes: versions must not come back, or a `swap` could take a new value for an old one.
const TABLES: &str = "
CREATE TABLE owner (
    id INTEGER PRIMARY KEY,
    plugin TEXT NOT NULL,
    principal TEXT NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0,     -- of all keys and values
    keys INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,   -- of the last change
    UNIQUE (plugin, principal)
) STRICT;
CREATE TABLE value (
    owner INTEGER NOT NULL REFERENCES owner ON DELETE CASCADE,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    version INTEGER NOT NULL,
    label TEXT NOT NULL,                  -- what is to be remembered of where it came from
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
";

/// Whose values.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Which plugin's.
    pub plugin: String,
    /// On whose behalf.
    pub principal: String,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Itself.
    pub value: Vec<u8>,
    /// Another one after every change, and never one that was.
    pub version: u64,
    /// As it was given.
    pub label: String,
}

/// What must be there for a value to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is.
    Any,
    /// Nothing.
    Nothing,
    /// This version.
    Version(u64),
}

/// How much an owner may keep.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Of keys and values.
    pub bytes: u64,
    /// Keys.
    pub keys: u64,
}

/// What became of a value that was to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Kept, as this version.
    Done(u64),
    /// Something else was there.
    Conflict,
    /// So many bytes are too few.
    TooLarge(u64),
    /// So many keys are too few.
    TooMany(u64),
}

/// The open file. Clones are the same.
#[derive(Clone)]
pub struct Values {
    reads: Arc<Worker>,
    writes: Arc<Worker>,
}

impl Values {
    /// Opens the file in the state folder, making both when they are missing, for this user only. Blocks.
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        private(folder)?;
        let path = folder.join(FILE);
        make(&path)?;
        let broken = |error: rusqlite::Error| StorageError::Broken { path: path.clone(), problem: error.to_string() };
        let mut writer = connect(&path).map_err(broken)?;
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
        let sound: String = writer.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(broken)?;
        if sound != "ok" {
            return Err(StorageError::Broken { path, problem: sound });
        }
        let reader = connect(&path).map_err(broken)?;
        reader.pragma_update(None, "query_only", true).map_err(broken)?;
        Ok(Self {
            reads: Arc::new(Worker::start(reader, TransactionBehavior::Deferred, None)?),
            writes: Arc::new(Worker::start(writer, TransactionBehavior::Immediate, None)?),
        })
    }

    /// What is kept under a key.
    pub fn get(&self, owner: Owner, key: String) -> Pending<Option<Kept>> {
        self.reads.ask(move |connection| {
            let sql = "SELECT value, value.version, label FROM value JOIN owner ON owner.id = owner
                WHERE plugin = ?1 AND principal = ?2 AND key = ?3";
            let kept =
                |row: &rusqlite::Row<'_>| Ok(Kept { value: row.get(0)?, version: number(row, 1)?, label: row.get(2)? });
            let mut select = connection.prepare_cached(sql)?;
            select.query_row(params![owner.plugin, owner.principal, key], kept).optional()
        })
    }

    /// Keeps a value, if what is expected is there and there is room. One that takes no more room than before always
    /// finds it, also when there is less by now.
    pub fn put(
        &self,
        owner: Owner,
        key: String,
        value: Vec<u8>,
        label: String,
        expected: Expected,
        room: Room,
    ) -> Pending<Put> {
        self.writes.ask(move |connection| {
            let (id, bytes, keys, last) = found(connection, &owner)?;
            let sql = "SELECT version, octet_length(key) + length(value) FROM value WHERE owner = ?1 AND key = ?2";
            let old: Option<(u64, u64)> = connection
                .prepare_cached(sql)?
                .query_row(params![id, key], |row| Ok((number(row, 0)?, number(row, 1)?)))
                .optional()?;
            let as_expected = match expected {
                Expected::Any => true,
                Expected::Nothing => old.is_none(),
                Expected::Version(version) => old.is_some_and(|(now, _)| now == version),
            };
            if !as_expected {
                return Ok(Put::Conflict);
            }
            let (before, version) = (old.map_or(0, |(_, size)| size), last + 1);
            let after = bytes.saturating_sub(before) + key.len() as u64 + value.len() as u64;
            if after > room.bytes && after > bytes {
                return Ok(Put::TooLarge(room.bytes));
            }
            if old.is_none() && keys >= room.keys {
                return Ok(Put::TooMany(room.keys));
            }
            let sql = "INSERT OR REPLACE INTO value (owner, key, value, version, label) VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.prepare_cached(sql)?.execute(params![id, key, value, signed(version), label])?;
            settle(connection, id, after, keys + u64::from(old.is_none()), version)?;
            Ok(Put::Done(version))
        })
    }

    /// Removes a value; false when there was none.
    pub fn remove(&self, owner: Owner, key: String) -> Pending<bool> {
        self.writes.ask(move |connection| {
            let (id, bytes, keys, last) = found(connection, &owner)?;
            let sql = "DELETE FROM value WHERE owner = ?1 AND key = ?2 RETURNING octet_length(key) + length(value)";
            let gone: Option<u64> =
                connection.prepare_cached(sql)?.query_row(params![id, key], |row| number(row, 0)).optional()?;
            let Some(size) = gone else { return Ok(false) };
            settle(connection, id, bytes.saturating_sub(size), keys.saturating_sub(1), last + 1)?;
            Ok(true)
        })
    }

    /// Keys that begin so and come after this one, in order, at most so many, each with its label. Keys are printable
    /// ASCII.
    pub fn keys(&self, owner: Owner, prefix: String, after: String, most: u32) -> Pending<Vec<(String, String)>> {
        self.reads.ask(move |connection| {
            let sql = "SELECT key, label FROM value JOIN owner ON owner.id = owner
                WHERE plugin = ?1 AND principal = ?2 AND key >= ?3 AND key < ?4 AND key > ?5 ORDER BY key LIMIT ?6";
            let end = format!("{prefix}\u{7f}");
            let mut select = connection.prepare_cached(sql)?;
            let rows = select.query_map(params![owner.plugin, owner.principal, prefix, end, after, most], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            rows.collect()
        })
    }

    /// Removes everything that a plugin keeps, for all principals; how many values that were.
    pub fn forget(&self, plugin: String) -> Pending<u64> {
        self.writes.ask(move |connection| {
            let sql = "SELECT coalesce(sum(keys), 0) FROM owner WHERE plugin = ?1";
            let values = connection.prepare_cached(sql)?.query_row([&plugin], |row| number(row, 0))?;
            connection.prepare_cached("DELETE FROM owner WHERE plugin = ?1")?.execute([&plugin])?;
            Ok(values)
        })
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit is on the disk when it returns, so what a call was told survives the machine too.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(connection)
}

/// The owner's number, made when it is new; its bytes, keys and last version.
fn found(connection: &Connection, owner: &Owner) -> rusqlite::Result<(i64, u64, u64, u64)> {
    let sql = "INSERT INTO owner (plugin, principal) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![owner.plugin, owner.principal])?;
    let sql = "SELECT id, bytes, keys, version FROM owner WHERE plugin = ?1 AND principal = ?2";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, number(row, 1)?, number(row, 2)?, number(row, 3)?));
    connection.prepare_cached(sql)?.query_row(params![owner.plugin, owner.principal], row)
}

fn settle(connection: &Connection, id: i64, bytes: u64, keys: u64, version: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE owner SET bytes = ?2, keys = ?3, version = ?4 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![id, signed(bytes), signed(keys), signed(version)]).map(|_| ())
}

/// SQLite's integers have a sign; ours are counts.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn number(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { bytes: 100, keys: 3 };

    fn owner(plugin: &str, principal: &str) -> Owner {
        Owner { plugin: plugin.into(), principal: principal.into() }
    }

    async fn put(values: &Values, owner: &Owner, key: &str, size: usize, expected: Expected) -> Put {
        let value = vec![7; size];
        values.put(owner.clone(), key.into(), value, "l".into(), expected, ROOM).await.unwrap()
    }

    #[tokio::test]
    async fn each_has_its_own_and_finds_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b, c) = (owner("p", "alice"), owner("p", "bob"), owner("q", "alice"));
        let values = Values::open(folder.path()).unwrap();
        assert_eq!(put(&values, &a, "k", 3, Expected::Nothing).await, Put::Done(1));
        for other in [&b, &c] {
            assert_eq!(values.get(other.clone(), "k".into()).await.unwrap(), None);
            assert!(!values.remove(other.clone(), "k".into()).await.unwrap());
            assert!(values.keys(other.clone(), String::new(), String::new(), 9).await.unwrap().is_empty());
        }
        drop(values);
        let (one, other) = (Values::open(folder.path()).unwrap(), Values::open(folder.path()).unwrap());
        let kept = Kept { value: vec![7; 3], version: 1, label: "l".into() };
        assert_eq!(one.get(a.clone(), "k".into()).await.unwrap(), Some(kept));
        assert_eq!(put(&one, &a, "k", 1, Expected::Version(1)).await, Put::Done(2));
        assert_eq!(other.get(a.clone(), "k".into()).await.unwrap().unwrap().version, 2, "processes share it");
        assert_eq!(other.forget("p".into()).await.unwrap(), 1);
        assert_eq!(one.get(a, "k".into()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn versions_never_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let (values, a) = (Values::open(folder.path()).unwrap(), owner("p", "alice"));
        assert_eq!(put(&values, &a, "k", 1, Expected::Version(1)).await, Put::Conflict);
        assert_eq!(put(&values, &a, "k", 1, Expected::Nothing).await, Put::Done(1));
        assert_eq!(put(&values, &a, "k", 1, Expected::Nothing).await, Put::Conflict);
        assert!(values.remove(a.clone(), "k".into()).await.unwrap());
        assert_eq!(put(&values, &a, "k", 1, Expected::Any).await, Put::Done(3));
        assert_eq!(put(&values, &a, "k", 1, Expected::Version(1)).await, Put::Conflict);
    }

    #[tokio::test]
    async fn there_is_room_for_so_much() {
        let folder = tempfile::tempdir().unwrap();
        let (values, a) = (Values::open(folder.path()).unwrap(), owner("p", "alice"));
        assert_eq!(put(&values, &a, "a", 100, Expected::Any).await, Put::TooLarge(100));
        assert_eq!(put(&values, &a, "a", 99, Expected::Any).await, Put::Done(1));
        assert_eq!(put(&values, &a, "b", 0, Expected::Any).await, Put::TooLarge(100));
        assert_eq!(put(&values, &a, "a", 10, Expected::Any).await, Put::Done(2));
        assert_eq!(put(&values, &a, "b", 0, Expected::Any).await, Put::Done(3));
        assert_eq!(put(&values, &a, "c", 0, Expected::Any).await, Put::Done(4));
        assert_eq!(put(&values, &a, "d", 0, Expected::Any).await, Put::TooMany(3));
        let less = Room { bytes: 5, keys: 0 };
        let shrunk = values.put(a.clone(), "a".into(), vec![1; 8], String::new(), Expected::Any, less);
        assert_eq!(shrunk.await.unwrap(), Put::Done(5), "what gets smaller fits");
        let keys = |prefix: &str, after: &str| values.keys(a.clone(), prefix.into(), after.into(), 2);
        let names = |keys: Vec<(String, String)>| keys.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(names(keys("", "").await.unwrap()), ["a", "b"]);
        assert_eq!(names(keys("", "b").await.unwrap()), ["c"]);
        assert_eq!(names(keys("b", "").await.unwrap()), ["b"]);
    }
}
