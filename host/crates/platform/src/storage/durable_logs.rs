//! Logs of the durable store.

use super::durable_limits::{ENTRY_COST, READ_ENTRIES};
use super::durable_numbers::{signed, unsigned};
use crate::durable::{DurableError, Entries, Fence, Key};
use rusqlite::{Connection, OptionalExtension, params};

struct Log {
    id: i64,
    first: u64,
    next: u64,
    bytes: u64,
    fence: Fence,
}

fn find(connection: &Connection, name: &Key) -> rusqlite::Result<Option<Log>> {
    let log = |row: &rusqlite::Row<'_>| {
        let fence = Fence(unsigned(row, 4)?);
        Ok(Log { id: row.get(0)?, first: unsigned(row, 1)?, next: unsigned(row, 2)?, bytes: unsigned(row, 3)?, fence })
    };
    let sql = "SELECT id, first, next, bytes, token FROM log WHERE name = ?1";
    connection.prepare_cached(sql)?.query_row([name.as_str()], log).optional()
}

fn size(body: &[u8]) -> u64 {
    body.len() as u64 + ENTRY_COST
}

/// The function that writes: [`append`] or [`replace`].
pub(super) type Write =
    fn(&Connection, &Key, Fence, u64, &[Vec<u8>], u64) -> rusqlite::Result<Result<(), DurableError>>;

/// Appends entries. `most` limits the bytes of the whole log.
pub(super) fn append(
    connection: &Connection,
    name: &Key,
    fence: Fence,
    next: u64,
    entries: &[Vec<u8>],
    most: u64,
) -> rusqlite::Result<Result<(), DurableError>> {
    match check(find(connection, name)?, fence, next) {
        Ok(found) => write(connection, name, found, fence, next, entries, most),
        Err(refused) => Ok(Err(refused)),
    }
}

/// Writes entries in the same way, but they replace all earlier ones.
pub(super) fn replace(
    connection: &Connection,
    name: &Key,
    fence: Fence,
    next: u64,
    entries: &[Vec<u8>],
    most: u64,
) -> rusqlite::Result<Result<(), DurableError>> {
    let found = match check(find(connection, name)?, fence, next) {
        Ok(found) => found.map(|log| Log { first: next, bytes: 0, ..log }),
        Err(refused) => return Ok(Err(refused)),
    };
    let bytes: u64 = entries.iter().map(|body| size(body)).sum();
    if let Some(log) = found.as_ref().filter(|_| bytes <= most) {
        connection.prepare_cached("DELETE FROM entry WHERE log = ?1")?.execute([log.id])?;
    }
    write(connection, name, found, fence, next, entries, most)
}

/// Whether an owner with this token may write at this number.
fn check(found: Option<Log>, fence: Fence, next: u64) -> Result<Option<Log>, DurableError> {
    let (seen, end) = found.as_ref().map_or((Fence(0), 0), |log| (log.fence, log.next));
    if fence < seen {
        return Err(DurableError::Fenced);
    }
    if next != end {
        return Err(DurableError::Moved { next: end });
    }
    Ok(found)
}

/// Adds entries to the log `found`, whose `bytes` count the entries that are kept.
fn write(
    connection: &Connection,
    name: &Key,
    found: Option<Log>,
    fence: Fence,
    next: u64,
    entries: &[Vec<u8>],
    most: u64,
) -> rusqlite::Result<Result<(), DurableError>> {
    let before = found.as_ref().map_or(0, |log| log.bytes);
    let bytes = before + entries.iter().map(|body| size(body)).sum::<u64>();
    if bytes > most && !entries.is_empty() {
        return Ok(Err(DurableError::TooLarge { bytes, most }));
    }
    let end = next + entries.len() as u64;
    let id = match found {
        Some(log) => {
            let sql = "UPDATE log SET first = ?2, next = ?3, bytes = ?4, token = ?5 WHERE id = ?1";
            let values = (log.id, signed(log.first), signed(end), signed(bytes), signed(fence.0));
            connection.prepare_cached(sql)?.execute(values)?;
            log.id
        }
        None => {
            let sql = "INSERT INTO log (name, first, next, bytes, token) VALUES (?1, 0, ?2, ?3, ?4)";
            let values = (name.as_str(), signed(end), signed(bytes), signed(fence.0));
            connection.prepare_cached(sql)?.insert(values)?
        }
    };
    let mut insert = connection.prepare_cached("INSERT INTO entry (log, number, body) VALUES (?1, ?2, ?3)")?;
    for (number, body) in (next..).zip(entries) {
        insert.execute(params![id, signed(number), body])?;
    }
    Ok(Ok(()))
}

pub(super) fn read(connection: &Connection, name: &Key, from: u64, most_bytes: u64) -> rusqlite::Result<Entries> {
    let Some(log) = find(connection, name)? else { return Ok(Entries::default()) };
    let first = from.clamp(log.first, log.next);
    let sql = "SELECT body FROM entry WHERE log = ?1 AND number >= ?2 ORDER BY number";
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query((log.id, signed(first)))?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_blob()?;
        bytes += body.len() as u64;
        if !entries.is_empty() && (bytes > most_bytes || entries.len() >= READ_ENTRIES) {
            break;
        }
        entries.push(body.to_vec());
    }
    Ok(Entries { first, entries, next: log.next })
}

pub(super) fn trim(
    connection: &Connection,
    name: &Key,
    fence: Fence,
    before: u64,
) -> rusqlite::Result<Result<(), DurableError>> {
    let Some(log) = find(connection, name)? else { return Ok(Ok(())) };
    if fence < log.fence {
        return Ok(Err(DurableError::Fenced));
    }
    let first = before.clamp(log.first, log.next);
    let sql = "DELETE FROM entry WHERE log = ?1 AND number < ?2 RETURNING length(body)";
    let mut delete = connection.prepare_cached(sql)?;
    let mut bytes = log.bytes;
    for gone in delete.query_map((log.id, signed(first)), |row| unsigned(row, 0))? {
        bytes = bytes.saturating_sub(gone? + ENTRY_COST);
    }
    let sql = "UPDATE log SET first = ?2, bytes = ?3, token = ?4 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((log.id, signed(first), signed(bytes), signed(fence.0)))?;
    Ok(Ok(()))
}

pub(super) fn remove(connection: &Connection, name: &Key) -> rusqlite::Result<()> {
    let sql = "DELETE FROM log WHERE name = ?1 RETURNING id";
    let id: Option<i64> = connection.prepare_cached(sql)?.query_row([name.as_str()], |row| row.get(0)).optional()?;
    if let Some(id) = id {
        connection.prepare_cached("DELETE FROM entry WHERE log = ?1")?.execute([id])?;
    }
    Ok(())
}
