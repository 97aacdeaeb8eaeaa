//! Which hours of a day are free, before there are any events.

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::Serialize;

/// A day's free hours.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Day {
    pub(crate) day: String,
    /// When they begin, such as 09:00; in order.
    pub(crate) slots: Vec<String>,
}

/// Two of the eight working hours, by the day of the month: busy people have few.
pub(crate) fn free(day: &str) -> Result<Vec<String>, ToolError> {
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
    let mut parts = day.split('-');
    let (Some(_), Some(1..=12), Some(of_month @ 1..=31)) =
        (number(parts.next()), number(parts.next()), number(parts.next()))
    else {
        return Err(ToolError::invalid(format_args!("`{day}` is not a date such as 2026-12-01")));
    };
    Ok((9..=16).filter(|hour| (of_month * 5 + hour).is_multiple_of(4)).map(|hour| format!("{hour:02}:00")).collect())
}
