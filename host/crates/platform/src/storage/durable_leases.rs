//! Leases of the durable store. Processes that share the file share its clock, so leases are dated by the wall clock.

use super::durable_numbers::signed;
use crate::durable::{Fence, Key, Lease};
use rusqlite::{Connection, OptionalExtension};
use std::time::Duration;

/// A lease holds until its end. If the clock was set back by more than its time, it does not: its owner may be gone, and
/// the next one would wait for long. If its owner is not gone, it is fenced.
const HOLDS: &str = "until > ?2 AND until <= ?2 + 2 * time";
/// Expired leases that are removed with each new one, so that they do not pile up.
const REMOVED: u32 = 8;

pub(super) fn acquire(
    connection: &Connection,
    name: &Key,
    holder: &str,
    time: Duration,
    now: Duration,
) -> rusqlite::Result<Option<Lease>> {
    let (now, time) = (millis(now), millis(time));
    let sql = format!("SELECT 1 FROM lease WHERE name = ?1 AND {HOLDS} AND holder <> ?3");
    let taken = connection.prepare_cached(&sql)?.query_row((name.as_str(), now, holder), |_| Ok(())).optional()?;
    if taken.is_some() {
        return Ok(None);
    }
    let sql = "DELETE FROM lease WHERE token IN (SELECT token FROM lease WHERE until <= ?1 ORDER BY until LIMIT ?2)";
    connection.prepare_cached(sql)?.execute((now, REMOVED))?;
    let sql = "INSERT OR REPLACE INTO lease (name, holder, until, time) VALUES (?1, ?2, ?3, ?4)";
    let values = (name.as_str(), holder, now.saturating_add(time), time);
    let token = connection.prepare_cached(sql)?.insert(values)?;
    Ok(Some(Lease { name: name.clone(), holder: holder.to_owned(), fence: Fence(token.unsigned_abs()) }))
}

/// Returns those that are not renewed.
pub(super) fn renew(
    connection: &Connection,
    leases: &[Lease],
    time: Duration,
    now: Duration,
) -> rusqlite::Result<Vec<Lease>> {
    let (now, time) = (millis(now), millis(time));
    let sql =
        format!("UPDATE lease SET until = ?3, time = ?4 WHERE token = ?1 AND name = ?5 AND holder = ?6 AND {HOLDS}");
    let mut update = connection.prepare_cached(&sql)?;
    let mut lost = Vec::new();
    for lease in leases {
        let values = (signed(lease.fence.0), now, now.saturating_add(time), time, lease.name.as_str(), &lease.holder);
        if update.execute(values)? == 0 {
            lost.push(lease.clone());
        }
    }
    Ok(lost)
}

pub(super) fn release(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    let sql = "DELETE FROM lease WHERE token = ?1 AND name = ?2 AND holder = ?3";
    let values = (signed(lease.fence.0), lease.name.as_str(), &lease.holder);
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn millis(time: Duration) -> i64 {
    // The time of a lease is doubled.
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 4)
}
