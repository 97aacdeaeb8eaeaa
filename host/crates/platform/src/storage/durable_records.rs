//! Records of the durable store.

use super::durable_limits::LIST_BYTES;
use super::durable_numbers::unsigned;
use crate::durable::{DurableError, Expected, Key, Record, Revision};
use rusqlite::{Connection, OptionalExtension};

pub(super) fn get(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Record>> {
    let sql = "SELECT value, revision FROM record WHERE key = ?1";
    let record = |row: &rusqlite::Row<'_>| Ok(Record { value: row.get(0)?, revision: revision(row, 1)? });
    connection.prepare_cached(sql)?.query_row([key.as_str()], record).optional()
}

pub(super) fn put(
    connection: &Connection,
    key: &Key,
    value: &[u8],
    expected: Expected,
) -> rusqlite::Result<Result<Revision, DurableError>> {
    if let Err(error) = check(connection, key, expected)? {
        return Ok(Err(error));
    }
    let sql = "INSERT OR REPLACE INTO record (key, value) VALUES (?1, ?2)";
    let revision = connection.prepare_cached(sql)?.insert((key.as_str(), value))?;
    Ok(Ok(Revision(revision.unsigned_abs())))
}

pub(super) fn remove(
    connection: &Connection,
    key: &Key,
    expected: Expected,
) -> rusqlite::Result<Result<(), DurableError>> {
    if let Err(error) = check(connection, key, expected)? {
        return Ok(Err(error));
    }
    connection.prepare_cached("DELETE FROM record WHERE key = ?1")?.execute([key.as_str()])?;
    Ok(Ok(()))
}

fn check(connection: &Connection, key: &Key, expected: Expected) -> rusqlite::Result<Result<(), DurableError>> {
    let wanted = match expected {
        Expected::Any => return Ok(Ok(())),
        Expected::Nothing => None,
        Expected::At(revision) => Some(revision),
    };
    let sql = "SELECT revision FROM record WHERE key = ?1";
    let found = connection.prepare_cached(sql)?.query_row([key.as_str()], |row| revision(row, 0)).optional()?;
    Ok(if found == wanted { Ok(()) } else { Err(DurableError::Conflict(found)) })
}

pub(super) fn list(
    connection: &Connection,
    prefix: &Key,
    after: Option<&Key>,
    most: u32,
) -> rusqlite::Result<Vec<(Key, Record)>> {
    let sql = "SELECT key, value, revision FROM record WHERE key > ?1 AND key > ?2 AND key < ?3 ORDER BY key LIMIT ?4";
    // In ASCII, `0` is the character after `/`.
    let (begin, end) = (format!("{prefix}/"), format!("{prefix}0"));
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query((begin, after.map_or("", Key::as_str), end, most))?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(1)?.as_blob()?.len() as u64;
        if bytes > LIST_BYTES && !page.is_empty() {
            break;
        }
        let text: String = row.get(0)?;
        let key = Key::new(text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
        })?;
        page.push((key, Record { value: row.get(1)?, revision: revision(row, 2)? }));
    }
    Ok(page)
}

fn revision(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Revision> {
    unsigned(row, at).map(Revision)
}
