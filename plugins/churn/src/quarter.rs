//! Quarters of the calendar, and of a fiscal year that begins in February.

use portcullis_guest::Choice;

/// A quarter of some year. A fiscal year goes by the calendar year it begins in.
#[derive(Choice, Clone, Copy, Debug, PartialEq)]
#[form(rename_all = "kebab-case")]
pub(crate) enum Quarter {
    #[form(title = "Calendar Q1")]
    CalendarQ1,
    #[form(title = "Calendar Q2")]
    CalendarQ2,
    #[form(title = "Calendar Q3")]
    CalendarQ3,
    #[form(title = "Calendar Q4")]
    CalendarQ4,
    #[form(title = "Fiscal Q1 (February to April)")]
    FiscalQ1,
    #[form(title = "Fiscal Q2 (May to July)")]
    FiscalQ2,
    #[form(title = "Fiscal Q3 (August to October)")]
    FiscalQ3,
    #[form(title = "Fiscal Q4 (November to January)")]
    FiscalQ4,
}

impl Quarter {
    /// Its first day, and the first day after it, such as `2025-11-01` and `2026-02-01`: dates that compare as text.
    pub(crate) fn dates(self, year: u16) -> (String, String) {
        let (fiscal, quarter) = (self.index() / 4, self.index() % 4);
        let month = quarter * 3 + fiscal;
        (first_day(year, month), first_day(year, month + 3))
    }

    /// What the user sees.
    pub(crate) fn name(self) -> &'static str {
        self.title().unwrap_or(self.value())
    }
}

/// Months count from 0 and may run into the next year.
fn first_day(year: u16, month: usize) -> String {
    format!("{:04}-{:02}-01", usize::from(year) + month / 12, month % 12 + 1)
}

#[cfg(test)]
mod tests {
    use super::Quarter;

    #[test]
    fn quarters_have_dates() {
        for (quarter, from, until) in [
            (Quarter::CalendarQ1, "2025-01-01", "2025-04-01"),
            (Quarter::CalendarQ4, "2025-10-01", "2026-01-01"),
            (Quarter::FiscalQ1, "2025-02-01", "2025-05-01"),
            (Quarter::FiscalQ4, "2025-11-01", "2026-02-01"),
        ] {
            assert_eq!(quarter.dates(2025), (from.to_owned(), until.to_owned()));
        }
    }
}
