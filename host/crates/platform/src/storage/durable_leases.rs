//! Leases of the durable store. Processes that share the file share a machine, so leases use a clock of the machine that nobody
//! can set and that stands still while the machine sleeps.

use super::durable_numbers::signed;
use crate::durable::{Fence, Key, Lease};
use rusqlite::{Connection, OptionalExtension};
use std::time::Duration;

/// A lease holds until its end. If the end is later than possible, the lease was taken before the machine was restarted, so its
/// owner is gone.
const HOLDS: &str = "until > ?2 AND until <= ?2 + 2 * time";
/// An expired lease is kept until this many later ones were taken: its owner may only have been stopped and renew it, and other
/// processes look for what it has left behind. Bounds what is left by owners that never come back.
const KEPT: i64 = 10_000;
/// How many leases are removed at most with each new one.
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
    let sql = "INSERT OR REPLACE INTO lease (name, holder, until, time) VALUES (?1, ?2, ?3, ?4)";
    let values = (name.as_str(), holder, now.saturating_add(time), time);
    let token = connection.prepare_cached(sql)?.insert(values)?;
    let sql = format!(
        "DELETE FROM lease WHERE token IN
            (SELECT token FROM lease WHERE token <= ?1 AND NOT ({HOLDS}) ORDER BY token LIMIT ?3)"
    );
    connection.prepare_cached(&sql)?.execute((token - KEPT, now, REMOVED))?;
    Ok(Some(Lease { name: name.clone(), holder: holder.to_owned(), fence: Fence(token.unsigned_abs()) }))
}

/// Returns the leases that are not renewed because somebody has taken them meanwhile.
pub(super) fn renew(
    connection: &Connection,
    leases: &[Lease],
    time: Duration,
    now: Duration,
) -> rusqlite::Result<Vec<Lease>> {
    let (now, time) = (millis(now), millis(time));
    let sql = "UPDATE lease SET until = ?2, time = ?3 WHERE token = ?1 AND name = ?4 AND holder = ?5";
    let mut update = connection.prepare_cached(sql)?;
    let mut lost = Vec::new();
    for lease in leases {
        let values = (signed(lease.fence.0), now.saturating_add(time), time, lease.name.as_str(), &lease.holder);
        if update.execute(values)? == 0 {
            lost.push(lease.clone());
        }
    }
    Ok(lost)
}

/// The leases that have expired and whose names begin with `prefix` and a `/`.
pub(super) fn expired(connection: &Connection, prefix: &Key, now: Duration) -> rusqlite::Result<Vec<Lease>> {
    // In ASCII, `0` is the character after `/`.
    let (from, to) = (format!("{prefix}/"), format!("{prefix}0"));
    let sql =
        format!("SELECT name, holder, token FROM lease WHERE name > ?1 AND name < ?3 AND NOT ({HOLDS}) ORDER BY token");
    let mut select = connection.prepare_cached(&sql)?;
    let found = select.query_map((from, millis(now), to), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    })?;
    let mut leases = Vec::new();
    for found in found {
        let (name, holder, token) = found?;
        // Only keys are stored here, so none is lost.
        leases.extend(Key::new(name).ok().map(|name| Lease { name, holder, fence: Fence(token.unsigned_abs()) }));
    }
    Ok(leases)
}

pub(super) fn release(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    let sql = "DELETE FROM lease WHERE token = ?1 AND name = ?2 AND holder = ?3";
    let values = (signed(lease.fence.0), lease.name.as_str(), &lease.holder);
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn millis(time: Duration) -> i64 {
    // The time of a lease is doubled in SQL, which must not overflow.
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 4)
}
