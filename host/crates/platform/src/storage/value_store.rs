//! Key-value data of plugins, by plugin and principal. Values are not interpreted here.
//!
//! Several processes of one user may share this file. One thread writes and commits all queued jobs together, and one thread
//! reads, so that readers do not wait for the disk. A confirmed write is on the disk.

use super::error::StorageError;
use super::value_tables::{FILE, open_values};
use super::worker::{PendingResult, Setup, Worker};
use crate::durable::Durability;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;

/// The owner of values. A value that is written under a label is found only by owners whose label has all lines of that one.
#[derive(Debug, Clone)]
pub struct ValueOwner {
    pub plugin: String,
    pub principal: String,
    /// The label's lines, in order; empty for most owners.
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
    /// The precondition did not hold.
    Conflict,
    /// The write would exceed the quota of this many bytes.
    TooLarge(u64),
    /// The write would exceed the quota of this many keys.
    TooMany(u64),
}

/// How many values one plugin has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCount {
    pub plugin: String,
    pub values: u64,
    /// How many principals have at least one of them.
    pub principals: u64,
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
            reads: Arc::new(Worker::start(Setup::new(reader, TransactionBehavior::Deferred, Durability::Power))?),
            writes: Arc::new(Worker::start(Setup::new(writer, TransactionBehavior::Immediate, Durability::Power))?),
        })
    }

    /// The value of a key.
    pub fn get(&self, owner: ValueOwner, key: String) -> PendingResult<Option<StoredValue>> {
        self.reads.ask(move |connection| {
            let newest = newest(connection, &visible_parts(connection, &owner)?, &key)?;
            Ok(newest.and_then(|item| Some(StoredValue { value: item.value?, version: item.version })))
        })
    }

    /// Stores a value if the precondition holds and the quota allows it. A value that takes no more space than before is always
    /// allowed, even if the quota has become smaller.
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

    /// Removes a value. Returns whether there was one.
    pub fn remove(&self, owner: ValueOwner, key: String, room: ValueQuota) -> PendingResult<Result<bool, PutOutcome>> {
        self.writes.ask(move |connection| {
            let (own, parts) = (own_part(connection, &owner)?, visible_parts(connection, &owner)?);
            if newest(connection, &parts, &key)?.is_none_or(|item| item.value.is_none()) {
                return Ok(Ok(false));
            }
            let others: Vec<i64> = parts.into_iter().filter(|part| *part != own.id).collect();
            if newest(connection, &others, &key)?.is_some() {
                // Owners who see only the other part still find the value there.
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
            // With `max`, SQLite takes the other columns from the row with the maximum.
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

    /// Whether the state folder has such a file.
    pub fn is_there(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Counts the values of a plugin, and of those whose names consist of its name, `@` and more.
    pub fn count(&self, plugin: String) -> PendingResult<Vec<ValueCount>> {
        self.reads.ask(move |connection| {
            let sql = "SELECT plugin, sum(keys), count(DISTINCT principal) FROM part
                WHERE keys > 0 AND (plugin = ?1 OR substr(plugin, 1, length(?1) + 1) = ?1 || '@')
                GROUP BY plugin ORDER BY plugin";
            let mut select = connection.prepare_cached(sql)?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok(ValueCount { plugin: row.get(0)?, values: number(row, 1)?, principals: number(row, 2)? })
            };
            select.query_map([&plugin], row)?.collect()
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

/// Writes an item to the owner's own part, if the quota allows it.
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

/// What an owner has stored under its own label.
struct Part {
    id: i64,
    bytes: u64,
    keys: u64,
    version: u64,
}

/// Returns the owner's own part, and creates it if it is new. The versions of a part with a label begin at a random number, so
/// that they are not mistaken for versions of other parts.
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

/// The parts whose label has only lines that the owner's label has, too.
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
