//! Key-value data of plugins, by plugin and principal. Values are opaque here.
//!
//! Several processes of one user may share this file. One thread writes, with one commit for all queued jobs, and one
//! reads, so that readers do not wait for the disk. A confirmed write is on the disk.

use super::error::StorageError;
use super::open::{make, private};
use super::worker::{PendingResult, Worker};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "values.db";
/// Format of the tables.
const FORMAT: i64 = 1;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// An owner stays when its last value is removed: versions must not be reused, or a compare-and-swap could mistake a new
/// value for an old one.
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

#[derive(Debug, Clone)]
pub struct ValueOwner {
    pub plugin: String,
    pub principal: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    pub value: Vec<u8>,
    /// Changes with every write and is never reused.
    pub version: u64,
    pub label: String,
}

/// The precondition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutCondition {
    Any,
    Nothing,
    Version(u64),
}

/// How much an owner may store.
#[derive(Debug, Clone, Copy)]
pub struct ValueQuota {
    pub bytes: u64,
    pub keys: u64,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    Done(u64),
    /// The precondition failed.
    Conflict,
    /// Over the quota of this many bytes.
    TooLarge(u64),
    /// Over the quota of this many keys.
    TooMany(u64),
}

/// The open file. Clones share it.
#[derive(Clone)]
pub struct ValueStore {
    reads: Arc<Worker>,
    writes: Arc<Worker>,
}

impl ValueStore {
    /// Opens the file in the state folder and creates both if they are missing, private to this user. Blocks.
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

    /// The value of a key.
    pub fn get(&self, owner: ValueOwner, key: String) -> PendingResult<Option<StoredValue>> {
        self.reads.ask(move |connection| {
            let sql = "SELECT value, value.version, label FROM value JOIN owner ON owner.id = owner
                WHERE plugin = ?1 AND principal = ?2 AND key = ?3";
            let kept = |row: &rusqlite::Row<'_>| {
                Ok(StoredValue { value: row.get(0)?, version: number(row, 1)?, label: row.get(2)? })
            };
            let mut select = connection.prepare_cached(sql)?;
            select.query_row(params![owner.plugin, owner.principal, key], kept).optional()
        })
    }

    /// Stores a value if the precondition holds and the quota allows it. A value that takes no more space than before is
    /// always allowed, even if the quota has shrunk.
    pub fn put(
        &self,
        owner: ValueOwner,
        key: String,
        value: Vec<u8>,
        label: String,
        expected: PutCondition,
        room: ValueQuota,
    ) -> PendingResult<PutOutcome> {
        self.writes.ask(move |connection| {
            let (id, bytes, keys, last) = found(connection, &owner)?;
            let sql = "SELECT version, octet_length(key) + length(value) FROM value WHERE owner = ?1 AND key = ?2";
            let old: Option<(u64, u64)> = connection
                .prepare_cached(sql)?
                .query_row(params![id, key], |row| Ok((number(row, 0)?, number(row, 1)?)))
                .optional()?;
            let as_expected = match expected {
                PutCondition::Any => true,
                PutCondition::Nothing => old.is_none(),
                PutCondition::Version(version) => old.is_some_and(|(now, _)| now == version),
            };
            if !as_expected {
                return Ok(PutOutcome::Conflict);
            }
            let (before, version) = (old.map_or(0, |(_, size)| size), last + 1);
            let after = bytes.saturating_sub(before) + key.len() as u64 + value.len() as u64;
            if after > room.bytes && after > bytes {
                return Ok(PutOutcome::TooLarge(room.bytes));
            }
            if old.is_none() && keys >= room.keys {
                return Ok(PutOutcome::TooMany(room.keys));
            }
            let sql = "INSERT OR REPLACE INTO value (owner, key, value, version, label) VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.prepare_cached(sql)?.execute(params![id, key, value, signed(version), label])?;
            settle(connection, id, after, keys + u64::from(old.is_none()), version)?;
            Ok(PutOutcome::Done(version))
        })
    }

    /// Removes a value; false if there was none.
    pub fn remove(&self, owner: ValueOwner, key: String) -> PendingResult<bool> {
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

    /// Up to `most` keys with this prefix that come after `after`, in order, each with its label. Keys are printable ASCII.
    pub fn keys(
        &self,
        owner: ValueOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> PendingResult<Vec<(String, String)>> {
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

    /// Removes all values of a plugin, for all principals; returns their number.
    pub fn forget(&self, plugin: String) -> PendingResult<u64> {
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
    // A commit is on the disk when it returns, so confirmed writes survive a crash of the machine.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(connection)
}

/// The owner's id (created if it is new), bytes, keys and last version.
fn found(connection: &Connection, owner: &ValueOwner) -> rusqlite::Result<(i64, u64, u64, u64)> {
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

/// SQLite's integers are signed.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn number(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: ValueQuota = ValueQuota { bytes: 100, keys: 3 };

    fn owner(plugin: &str, principal: &str) -> ValueOwner {
        ValueOwner { plugin: plugin.into(), principal: principal.into() }
    }

    async fn put(
        values: &ValueStore,
        owner: &ValueOwner,
        key: &str,
        size: usize,
        expected: PutCondition,
    ) -> PutOutcome {
        let value = vec![7; size];
        values.put(owner.clone(), key.into(), value, "l".into(), expected, ROOM).await.unwrap()
    }

    #[tokio::test]
    async fn each_has_its_own_and_finds_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b, c) = (owner("p", "alice"), owner("p", "bob"), owner("q", "alice"));
        let values = ValueStore::open(folder.path()).unwrap();
        assert_eq!(put(&values, &a, "k", 3, PutCondition::Nothing).await, PutOutcome::Done(1));
        for other in [&b, &c] {
            assert_eq!(values.get(other.clone(), "k".into()).await.unwrap(), None);
            assert!(!values.remove(other.clone(), "k".into()).await.unwrap());
            assert!(values.keys(other.clone(), String::new(), String::new(), 9).await.unwrap().is_empty());
        }
        drop(values);
        let (one, other) = (ValueStore::open(folder.path()).unwrap(), ValueStore::open(folder.path()).unwrap());
        let kept = StoredValue { value: vec![7; 3], version: 1, label: "l".into() };
        assert_eq!(one.get(a.clone(), "k".into()).await.unwrap(), Some(kept));
        assert_eq!(put(&one, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Done(2));
        assert_eq!(other.get(a.clone(), "k".into()).await.unwrap().unwrap().version, 2, "processes share it");
        assert_eq!(other.forget("p".into()).await.unwrap(), 1);
        assert_eq!(one.get(a, "k".into()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn versions_never_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let (values, a) = (ValueStore::open(folder.path()).unwrap(), owner("p", "alice"));
        assert_eq!(put(&values, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Conflict);
        assert_eq!(put(&values, &a, "k", 1, PutCondition::Nothing).await, PutOutcome::Done(1));
        assert_eq!(put(&values, &a, "k", 1, PutCondition::Nothing).await, PutOutcome::Conflict);
        assert!(values.remove(a.clone(), "k".into()).await.unwrap());
        assert_eq!(put(&values, &a, "k", 1, PutCondition::Any).await, PutOutcome::Done(3));
        assert_eq!(put(&values, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Conflict);
    }

    #[tokio::test]
    async fn there_is_room_for_so_much() {
        let folder = tempfile::tempdir().unwrap();
        let (values, a) = (ValueStore::open(folder.path()).unwrap(), owner("p", "alice"));
        assert_eq!(put(&values, &a, "a", 100, PutCondition::Any).await, PutOutcome::TooLarge(100));
        assert_eq!(put(&values, &a, "a", 99, PutCondition::Any).await, PutOutcome::Done(1));
        assert_eq!(put(&values, &a, "b", 0, PutCondition::Any).await, PutOutcome::TooLarge(100));
        assert_eq!(put(&values, &a, "a", 10, PutCondition::Any).await, PutOutcome::Done(2));
        assert_eq!(put(&values, &a, "b", 0, PutCondition::Any).await, PutOutcome::Done(3));
        assert_eq!(put(&values, &a, "c", 0, PutCondition::Any).await, PutOutcome::Done(4));
        assert_eq!(put(&values, &a, "d", 0, PutCondition::Any).await, PutOutcome::TooMany(3));
        let less = ValueQuota { bytes: 5, keys: 0 };
        let shrunk = values.put(a.clone(), "a".into(), vec![1; 8], String::new(), PutCondition::Any, less);
        assert_eq!(shrunk.await.unwrap(), PutOutcome::Done(5), "what gets smaller fits");
        let keys = |prefix: &str, after: &str| values.keys(a.clone(), prefix.into(), after.into(), 2);
        let names = |keys: Vec<(String, String)>| keys.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(names(keys("", "").await.unwrap()), ["a", "b"]);
        assert_eq!(names(keys("", "b").await.unwrap()), ["c"]);
        assert_eq!(names(keys("b", "").await.unwrap()), ["b"]);
    }
}
