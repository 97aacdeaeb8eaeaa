//! Conversions of numbers in the file: SQLite's integers are signed.

use rusqlite::Row;

/// Counting never reaches numbers beyond the range of `i64`.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}
