//! Numbers in the file: SQLite's are signed.

use rusqlite::Row;

/// Numbers beyond its range are never reached by counting.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}
