//! What is to be counted, exactly: what the user approves is what runs.

use std::fmt;

use portcullis_guest::Choice;

use crate::definition::Definition;
use crate::quarter::Quarter;

/// A query.
pub(crate) struct Query {
    pub(crate) definition: Definition,
    pub(crate) quarter: Quarter,
    pub(crate) year: u16,
    /// First day of the quarter.
    pub(crate) from: String,
    /// First day after it.
    pub(crate) until: String,
}

impl Query {
    pub(crate) fn new(definition: Definition, quarter: Quarter, year: u16) -> Self {
        let (from, until) = quarter.dates(year);
        Self { definition, quarter, year, from, until }
    }

    /// Whether customers of this plan are looked at.
    pub(crate) fn counts(&self, plan: &str) -> bool {
        match self.definition {
            Definition::PaidCustomers => plan == "paid",
            Definition::AllAccounts => true,
        }
    }

    /// Whether a customer was there when the quarter began. `left` is empty for those who are still there.
    pub(crate) fn was_there(&self, joined: &str, left: &str) -> bool {
        joined < self.from.as_str() && (left.is_empty() || left >= self.from.as_str())
    }

    /// Whether a customer who was there has left by its end.
    pub(crate) fn has_left(&self, left: &str) -> bool {
        !left.is_empty() && left < self.until.as_str()
    }

    /// A name for the report.
    pub(crate) fn path(&self) -> String {
        format!("churn/{}-{}-{}", self.year, self.quarter.value(), self.definition.value())
    }
}

/// As the user reads it before approving it.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, until, .. } = self;
        let plan = match self.definition {
            Definition::PaidCustomers => " and plan = paid",
            Definition::AllAccounts => "",
        };
        write!(f, "of customers with joined < {from} and not left < {from}{plan}: how many have left < {until}")
    }
}
