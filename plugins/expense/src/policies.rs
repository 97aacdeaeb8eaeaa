//! News of policies.

use portcullis_guest::{ToolError, events};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{submissions, table};

/// The event, by its name.
const EFFECTIVE: &str = "policy.effective";

/// What came of a look at the policies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// Policies of which was told now.
    told: Vec<String>,
    /// Policies of which had been told before.
    known: Vec<String>,
    /// How many receipts are open.
    pending: usize,
}

/// Tells of each policy that takes effect the day after.
pub(crate) fn check(now: &str) -> Result<Checked, ToolError> {
    let folder = table::folder()?;
    let pending = submissions::open(&folder)?.len();
    let mut checked = Checked { told: Vec::new(), known: Vec::new(), pending };
    for [id, effective, what] in table::read(&folder.join("policies.csv"), ["id", "effective", "what"])? {
        if !is_day_before(now, &effective)? {
            continue;
        }
        let payload = json!({ "policy": id, "effective": effective, "what": what, "pending": pending });
        let new = events::emit_once(EFFECTIVE, &id, &payload)?;
        if new { &mut checked.told } else { &mut checked.known }.push(id);
    }
    Ok(checked)
}

/// Whether the second date is the day after the first one.
fn is_day_before(now: &str, effective: &str) -> Result<bool, ToolError> {
    Ok(day(now)? + 1 == day(effective)?)
}

/// Days since the year 0, counting months from March so that the leap day is a year's last.
fn day(date: &str) -> Result<u64, ToolError> {
    let invalid = || ToolError::invalid(format_args!("`{date}` is not a date such as 2026-11-30"));
    let parts: Option<Vec<u64>> = date.split('-').map(|part| part.parse().ok()).collect();
    let Some(&[year @ 1..=9999, month @ 1..=12, day @ 1..=31]) = parts.as_deref() else { return Err(invalid()) };
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Ok(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::is_day_before;

    #[test]
    fn the_day_before_may_be_in_another_month_or_year() {
        for (now, effective) in [
            ("2026-11-30", "2026-12-01"),
            ("2026-12-31", "2027-01-01"),
            ("2028-02-29", "2028-03-01"),
            ("2027-02-28", "2027-03-01"),
        ] {
            assert!(is_day_before(now, effective).unwrap(), "{now} {effective}");
            assert!(!is_day_before(effective, now).unwrap() && !is_day_before(now, now).unwrap());
        }
        assert!(!is_day_before("2028-02-28", "2028-03-01").unwrap());
        assert!(is_day_before("2026-13-01", "2026-12-01").is_err());
    }
}
