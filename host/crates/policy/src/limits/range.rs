//! Configured numbers, sizes and times that must lie in a range.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A configured value outside what the host allows.
#[derive(Debug, thiserror::Error)]
#[error("{key} = {value} is outside what the host allows: {low} to {high}")]
pub struct RangeError {
    key: &'static str,
    value: String,
    low: String,
    high: String,
}

impl From<RangeError> for String {
    fn from(error: RangeError) -> Self {
        error.to_string()
    }
}

/// Checks a number or a size; `key` is its full name in the configuration.
pub(crate) fn check_range<T>(key: &'static str, value: T, range: RangeInclusive<T>) -> Result<(), RangeError>
where
    T: PartialOrd + Display,
{
    check(key, value, range, T::to_string)
}

pub(crate) fn check_duration(
    key: &'static str,
    value: Duration,
    range: RangeInclusive<Duration>,
) -> Result<(), RangeError> {
    check(key, value, range, |time| humantime::format_duration(*time).to_string())
}

fn check<T: PartialOrd>(
    key: &'static str,
    value: T,
    range: RangeInclusive<T>,
    text: impl Fn(&T) -> String,
) -> Result<(), RangeError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(RangeError { key, value: text(&value), low: text(range.start()), high: text(range.end()) })
}
