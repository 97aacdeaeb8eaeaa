//! What "churn" may mean.

use portcullis_guest::{Choice, ToolError};

/// Whose leaving counts.
#[derive(Choice, Clone, Copy, Debug, PartialEq)]
#[form(rename_all = "kebab-case")]
pub(crate) enum Definition {
    #[form(title = "Paid customers")]
    PaidCustomers,
    #[form(title = "All accounts, trials too")]
    AllAccounts,
}

/// Words that settle it.
const PAID: [&str; 5] = ["paid", "paying", "customer", "subscri", "revenue"];
const ALL: [&str; 4] = ["account", "trial", "user", "sign-up"];

impl Definition {
    /// What a question may mean by churn: both, unless its words settle it.
    pub(crate) fn meant_by(question: &str) -> Result<Vec<Self>, ToolError> {
        let question = question.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| question.contains(word));
        if !has(&["churn"]) {
            return Err(ToolError::invalid("the question is not about churn"));
        }
        Ok(match (has(&PAID), has(&ALL)) {
            (true, false) => vec![Self::PaidCustomers],
            (false, true) => vec![Self::AllAccounts],
            _ => vec![Self::PaidCustomers, Self::AllAccounts],
        })
    }

    /// What the user sees.
    pub(crate) fn name(self) -> &'static str {
        self.title().unwrap_or(self.value())
    }
}
