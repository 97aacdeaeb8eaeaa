//! Key-value data of plugins, by plugin and principal. Values are opaque here.
//!
//! Several processes of one user may share this file. One thread writes, with one commit for all queued jobs, and one
//! reads, so that readers do not wait for the disk. A confirmed write is on the disk.

use super::error::StorageError;
use super::value_tables::open_values;
use super::worker::{PendingResult, Setup, Worker};
use crate::durable::Strength;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;

/// Whose values these are. What an owner with a label writes is found only by owners whose label has all its lines.
#[derive(Debug, Clone)]
pub struct ValueOwner {
    pub plugin: String,
    pub principal: String,
    /// Lines in order; empty for most.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    pub value: Vec<u8>,
    /// Changes with every write and is never reused.
    pub version: u64,
}

/// The precondition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutCondition {
    Any,
    Nothing,
    Version(u64),
}

/// How much an owner may store under its label.
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
        let (writer, reader) = open_values(folder)?;
        Ok(Self {
            reads: Arc::new(Worker::start(Setup::new(reader, TransactionBehavior::Deferred, Strength::Power))?),
            writes: Arc::new(Worker::start(Setup::new(writer, TransactionBehavior::Immediate, Strength::Power))?),
        })
    }

    /// The value of a key.
    pub fn get(&self, owner: ValueOwner, key: String) -> PendingResult<Option<StoredValue>> {
        self.reads.ask(move |connection| {
            let newest = newest(connection, &visible_parts(connection, &owner)?, &key)?;
            Ok(newest.and_then(|item| Some(StoredValue { value: item.value?, version: item.version })))
        })
    }

    /// Stores a value if the precondition holds and the quota allows it. A value that takes no more space than before is
    /// always allowed, even if the quota has shrunk.
    pub fn put(
        &self,
        owner: ValueOwner,
        key: String,
        value: Vec<u8>,
        expected: PutCondition,
        room: ValueQuota,
    ) -> PendingResult<PutOutcome> {
        self.writes.ask(move |connection| {
            let own = own_part(connection, &owner)?;
            let found = newest(connection, &visible_parts(connection, &owner)?, &key)?;
            let found = found.filter(|item| item.value.is_some());
            let as_expected = match expected {
                PutCondition::Any => true,
                PutCondition::Nothing => found.is_none(),
                PutCondition::Version(version) => found.is_some_and(|item| item.version == version),
            };
            if !as_expected {
                return Ok(PutOutcome::Conflict);
            }
            write(connection, own, &key, Some(&value), room)
        })
    }

    /// Removes a value; whether there was one.
    pub fn remove(&self, owner: ValueOwner, key: String, room: ValueQuota) -> PendingResult<Result<bool, PutOutcome>> {
        self.writes.ask(move |connection| {
            let (own, parts) = (own_part(connection, &owner)?, visible_parts(connection, &owner)?);
            if newest(connection, &parts, &key)?.is_none_or(|item| item.value.is_none()) {
                return Ok(Ok(false));
            }
            let others: Vec<i64> = parts.into_iter().filter(|part| *part != own.id).collect();
            if newest(connection, &others, &key)?.is_some() {
                // Those who see only the other part still find it there.
                let hidden = write(connection, own, &key, None, room)?;
                return Ok(if let PutOutcome::Done(_) = hidden { Ok(true) } else { Err(hidden) });
            }
            let sql = "DELETE FROM item WHERE part = ?1 AND key = ?2 RETURNING octet_length(key) + length(value)";
            let size = connection.prepare_cached(sql)?.query_row(params![own.id, key], |row| number(row, 0))?;
            settle(connection, own.id, own.bytes.saturating_sub(size), own.keys.saturating_sub(1), own.version + 1)?;
            Ok(Ok(true))
        })
    }

    /// Up to `most` keys with this prefix that come after `after`, in order. Keys are printable ASCII.
    pub fn keys(&self, owner: ValueOwner, prefix: String, after: String, most: u32) -> PendingResult<Vec<String>> {
        self.reads.ask(move |connection| {
            let parts = visible_parts(connection, &owner)?;
            let parts = parts.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            // With `max`, SQLite takes the other columns from the row that has the maximum.
            let sql = format!(
                "SELECT key FROM (SELECT key, value IS NULL AS gone, max(changed) FROM item
                    WHERE part IN ({parts}) AND key >= ?1 AND key < ?2 AND key > ?3 GROUP BY key)
                WHERE NOT gone ORDER BY key LIMIT ?4"
            );
            let end = format!("{prefix}\u{7f}");
            let mut select = connection.prepare_cached(&sql)?;
            let rows = select.query_map(params![prefix, end, after, most], |row| row.get(0))?;
            rows.collect()
        })
    }

    /// Removes all values of a plugin, for all principals; returns their number.
    pub fn forget(&self, plugin: String) -> PendingResult<u64> {
        self.writes.ask(move |connection| {
            let sql = "SELECT coalesce(sum(keys), 0) FROM part WHERE plugin = ?1";
            let values = connection.prepare_cached(sql)?.query_row([&plugin], |row| number(row, 0))?;
            connection.prepare_cached("DELETE FROM part WHERE plugin = ?1")?.execute([&plugin])?;
            Ok(values)
        })
    }
}

struct Item {
    changed: i64,
    value: Option<Vec<u8>>,
    version: u64,
}

/// The newest item of a key in these parts.
fn newest(connection: &Connection, parts: &[i64], key: &str) -> rusqlite::Result<Option<Item>> {
    let sql = "SELECT changed, value, version FROM item WHERE part = ?1 AND key = ?2";
    let mut select = connection.prepare_cached(sql)?;
    let mut newest: Option<Item> = None;
    for part in parts {
        let item =
            |row: &rusqlite::Row<'_>| Ok(Item { changed: row.get(0)?, value: row.get(1)?, version: number(row, 2)? });
        let found = select.query_row(params![part, key], item).optional()?;
        newest = newest.into_iter().chain(found).max_by_key(|item| item.changed);
    }
    Ok(newest)
}

/// Writes an item of the owner's own part, if the quota allows it.
fn write(
    connection: &Connection,
    own: Part,
    key: &str,
    value: Option<&[u8]>,
    room: ValueQuota,
) -> rusqlite::Result<PutOutcome> {
    let sql = "SELECT octet_length(key) + ifnull(length(value), 0) FROM item WHERE part = ?1 AND key = ?2";
    let before: Option<u64> =
        connection.prepare_cached(sql)?.query_row(params![own.id, key], |row| number(row, 0)).optional()?;
    let size = (key.len() + value.map_or(0, <[u8]>::len)) as u64;
    let after = own.bytes.saturating_sub(before.unwrap_or_default()) + size;
    if after > room.bytes && after > own.bytes {
        return Ok(PutOutcome::TooLarge(room.bytes));
    }
    if before.is_none() && own.keys >= room.keys {
        return Ok(PutOutcome::TooMany(room.keys));
    }
    let version = own.version + 1;
    let sql = "INSERT OR REPLACE INTO item (part, key, value, version) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute(params![own.id, key, value, signed(version)])?;
    settle(connection, own.id, after, own.keys + u64::from(before.is_none()), version)?;
    Ok(PutOutcome::Done(version))
}

/// What an owner has under its own label.
struct Part {
    id: i64,
    bytes: u64,
    keys: u64,
    version: u64,
}

/// Creates it if it is new. Its versions begin somewhere else than those of other parts, so that none is mistaken for one
/// of theirs.
fn own_part(connection: &Connection, owner: &ValueOwner) -> rusqlite::Result<Part> {
    let ValueOwner { plugin, principal, label } = owner;
    let sql = "INSERT INTO part (plugin, principal, label, version)
        VALUES (?1, ?2, ?3, CASE ?3 WHEN '' THEN 0 ELSE abs(random() / 4) END) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![plugin, principal, label])?;
    let sql = "SELECT id, bytes, keys, version FROM part WHERE plugin = ?1 AND principal = ?2 AND label = ?3";
    let row = |row: &rusqlite::Row<'_>| {
        Ok(Part { id: row.get(0)?, bytes: number(row, 1)?, keys: number(row, 2)?, version: number(row, 3)? })
    };
    connection.prepare_cached(sql)?.query_row(params![plugin, principal, label], row)
}

/// The parts whose labels have no line that the owner's has not.
fn visible_parts(connection: &Connection, owner: &ValueOwner) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT id, label FROM part WHERE plugin = ?1 AND principal = ?2";
    let mut select = connection.prepare_cached(sql)?;
    let parts =
        select.query_map(params![owner.plugin, owner.principal], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let known: Vec<&str> = owner.label.lines().collect();
    let is_visible = |label: &str| label.lines().all(|line| known.contains(&line));
    parts.filter_map(|part| part.map(|(id, label)| is_visible(&label).then_some(id)).transpose()).collect()
}

fn settle(connection: &Connection, id: i64, bytes: u64, keys: u64, version: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE part SET bytes = ?2, keys = ?3, version = ?4 WHERE id = ?1";
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
        ValueOwner { plugin: plugin.into(), principal: principal.into(), label: String::new() }
    }

    async fn put(
        values: &ValueStore,
        owner: &ValueOwner,
        key: &str,
        size: usize,
        expected: PutCondition,
    ) -> PutOutcome {
        let value = vec![7; size];
        values.put(owner.clone(), key.into(), value, expected, ROOM).await.unwrap()
    }

    #[tokio::test]
    async fn each_has_its_own_and_finds_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b, c) = (owner("p", "alice"), owner("p", "bob"), owner("q", "alice"));
        let values = ValueStore::open(folder.path()).unwrap();
        assert_eq!(put(&values, &a, "k", 3, PutCondition::Nothing).await, PutOutcome::Done(1));
        for other in [&b, &c] {
            assert_eq!(values.get(other.clone(), "k".into()).await.unwrap(), None);
            assert!(values.remove(other.clone(), "k".into(), ROOM).await.unwrap() == Ok(false));
            assert!(values.keys(other.clone(), String::new(), String::new(), 9).await.unwrap().is_empty());
        }
        drop(values);
        let (one, other) = (ValueStore::open(folder.path()).unwrap(), ValueStore::open(folder.path()).unwrap());
        let kept = StoredValue { value: vec![7; 3], version: 1 };
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
        assert!(values.remove(a.clone(), "k".into(), ROOM).await.unwrap() == Ok(true));
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
        let shrunk = values.put(a.clone(), "a".into(), vec![1; 8], PutCondition::Any, less);
        assert_eq!(shrunk.await.unwrap(), PutOutcome::Done(5), "what gets smaller fits");
        let keys = |prefix: &str, after: &str| values.keys(a.clone(), prefix.into(), after.into(), 2);
        assert_eq!(keys("", "").await.unwrap(), ["a", "b"]);
        assert_eq!(keys("", "b").await.unwrap(), ["c"]);
        assert_eq!(keys("b", "").await.unwrap(), ["b"]);
    }

    #[tokio::test]
    async fn what_is_written_under_a_label_changes_nothing_for_those_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let values = ValueStore::open(folder.path()).unwrap();
        let plain = owner("p", "alice");
        let labelled = |label: &str| ValueOwner { label: label.into(), ..plain.clone() };
        let (a, b, both) = (labelled("a"), labelled("b"), labelled("a\nb"));
        let value = async |owner: &ValueOwner, key: &str| {
            values.get(owner.clone(), key.into()).await.unwrap().map(|found| found.value.len())
        };
        let remove =
            async |owner: &ValueOwner, key: &str| values.remove(owner.clone(), key.into(), ROOM).await.unwrap();
        let keys =
            async |owner: &ValueOwner| values.keys(owner.clone(), String::new(), String::new(), 9).await.unwrap();
        put(&values, &plain, "k", 1, PutCondition::Any).await;
        put(&values, &plain, "gone", 1, PutCondition::Any).await;
        put(&values, &a, "k", 2, PutCondition::Any).await;
        assert!(matches!(put(&values, &a, "secret", 81, PutCondition::Nothing).await, PutOutcome::Done(_)));
        assert_eq!(remove(&a, "gone").await, Ok(true));
        assert_eq!((value(&a, "gone").await, value(&plain, "gone").await), (None, Some(1)));
        assert_eq!((value(&plain, "k").await, value(&a, "k").await, value(&b, "k").await), (Some(1), Some(2), Some(1)));
        assert_eq!(value(&both, "secret").await, Some(81));
        assert_eq!(keys(&plain).await, ["gone", "k"]);
        assert_eq!(keys(&a).await, ["k", "secret"]);
        // Neither the quota nor the versions nor the answers of the others depend on it.
        assert_eq!(put(&values, &plain, "secret", 80, PutCondition::Nothing).await, PutOutcome::Done(3));
        assert_eq!(remove(&b, "nothing").await, Ok(false));
        // The newest wins.
        put(&values, &plain, "k", 5, PutCondition::Any).await;
        assert_eq!((value(&a, "k").await, value(&a, "secret").await), (Some(5), Some(80)));
        let seen = values.get(plain.clone(), "k".into()).await.unwrap().unwrap();
        assert!(matches!(put(&values, &both, "k", 6, PutCondition::Version(seen.version)).await, PutOutcome::Done(_)));
        assert_eq!(put(&values, &both, "k", 7, PutCondition::Version(seen.version)).await, PutOutcome::Conflict);
        assert_eq!((value(&a, "k").await, value(&both, "k").await), (Some(5), Some(6)));
    }

    #[tokio::test]
    async fn values_of_format_1_are_kept_under_their_labels() {
        let folder = tempfile::tempdir().unwrap();
        let old = Connection::open(folder.path().join("values.db")).unwrap();
        old.execute_batch(
            "CREATE TABLE owner (id INTEGER PRIMARY KEY, plugin TEXT NOT NULL, principal TEXT NOT NULL,
                bytes INTEGER NOT NULL DEFAULT 0, keys INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0,
                UNIQUE (plugin, principal)) STRICT;
            CREATE TABLE value (owner INTEGER NOT NULL REFERENCES owner ON DELETE CASCADE, key TEXT NOT NULL,
                value BLOB NOT NULL, version INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (owner, key))
                STRICT, WITHOUT ROWID;
            INSERT INTO owner VALUES (7, 'p', 'alice', 24, 2, 9), (8, 'p', 'bob', 0, 0, 4);
            INSERT INTO value VALUES (7, 'k', x'0102', 9, ''), (7, 'secret', x'03', 8, 'a');
            PRAGMA user_version = 1;",
        )
        .unwrap();
        drop(old);
        let values = ValueStore::open(folder.path()).unwrap();
        let (plain, bob) = (owner("p", "alice"), owner("p", "bob"));
        let labelled = ValueOwner { label: "a".into(), ..plain.clone() };
        let kept = StoredValue { value: vec![1, 2], version: 9 };
        assert_eq!(values.get(plain.clone(), "k".into()).await.unwrap(), Some(kept));
        assert_eq!(values.get(plain.clone(), "secret".into()).await.unwrap(), None);
        assert_eq!(values.get(labelled, "secret".into()).await.unwrap().unwrap().value, [3]);
        assert_eq!(put(&values, &plain, "k", 97, PutCondition::Any).await, PutOutcome::Done(10));
        assert_eq!(put(&values, &bob, "k", 1, PutCondition::Any).await, PutOutcome::Done(5));
    }
}
