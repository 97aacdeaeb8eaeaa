//! Dates as numbers of days since 1970-01-01. The calendar repeats every 400 years; counting from a March makes the leap
//! day the last of its year (Howard Hinnant, "chrono-compatible low-level date algorithms").

use std::time::{SystemTime, UNIX_EPOCH};

use portcullis_guest::ToolError;

/// Tomorrow in UTC.
#[allow(clippy::disallowed_methods, reason = "the host's rule; a plugin has only the clock that WASI gives it")]
pub(crate) fn tomorrow() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) / 86_400 + 1
}

/// The day of `2026-12-01`.
pub(crate) fn read(date: &str) -> Result<u64, ToolError> {
    let invalid = || ToolError::invalid(format_args!("from: `{date}` is not a date from 1970 on, such as 2026-12-01"));
    let parts: Option<Vec<u64>> = date.split('-').map(|part| part.parse().ok()).collect();
    let Some(&[year @ 1970..=9999, month @ 1..=12, day @ 1..=31]) = parts.as_deref() else { return Err(invalid()) };
    let found = day_of(year, month, day);
    // The 31st of a short month would be a day of the next one.
    if write(found) == date { Ok(found) } else { Err(invalid()) }
}

/// `2026-12-01` of a day.
pub(crate) fn write(day: u64) -> String {
    let days = day + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn day_of(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn days_and_dates_are_the_same_thing() {
        for (day, date) in [(0, "1970-01-01"), (11_016, "2000-02-29"), (20_788, "2026-12-01"), (47_541, "2100-03-01")] {
            assert_eq!((read(date).unwrap(), write(day).as_str()), (day, date));
        }
        for odd in ["2026-02-29", "2026-04-31", "2026-13-01", "1969-12-31", "2026-1-1", "tomorrow"] {
            assert!(matches!(read(odd), Err(ToolError::InvalidArguments(_))), "{odd}");
        }
    }
}
