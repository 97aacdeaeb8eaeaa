//! What the user decides: first what is meant, then whether to go ahead.

use portcullis_guest::client;
use portcullis_guest::{Form, ToolError};
use serde_json::Value;

use crate::definition::Definition;
use crate::quarter::Quarter;
use crate::query::Query;

/// What the user is asked first.
#[derive(Form)]
pub(crate) struct Choice {
    /// Whose leaving counts.
    pub(crate) definition: Definition,
    pub(crate) quarter: Quarter,
    /// The year, of a fiscal quarter the one its fiscal year begins in.
    #[form(range(min = 2000, max = 2100))]
    pub(crate) year: u16,
    /// Assumptions to keep with the report.
    #[form(length(max = 500))]
    pub(crate) notes: Option<String>,
}

/// Asks what is meant, starting from the suggestion.
pub(crate) fn choose(question: &str, meanings: &[Definition], suggestion: &Value) -> Result<Choice, ToolError> {
    let meanings: Vec<&str> = meanings.iter().map(|meaning| meaning.name()).collect();
    let message = format!("\"{question}\": churn of whom ({}), and when?", meanings.join(" or "));
    client::prefilled_form::<Choice>(message, suggestion).key("review").ask()?.or_stop()
}

/// Shows the query and asks whether to run it and publish what it gives.
pub(crate) fn approve(query: &Query) -> Result<(), ToolError> {
    let Query { definition, quarter, year, .. } = query;
    let what = format!("{}, {}, {year}", definition.name(), quarter.name());
    client::confirm(format!("Run this and publish the report?\n\n{what}:\n{query}")).key("approval").ask()?.or_stop()
}
