//! From a question to a report.

use portcullis_guest::{Content, ToolError};

use crate::definition::Definition;
use crate::query::Query;
use crate::{customers, report, review, suggestion};

/// Suggests, asks, asks again, counts, publishes. A no at any point ends it by `?`, and the table stays closed.
pub(crate) fn report(question: &str) -> Result<Vec<Content>, ToolError> {
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    let meanings = Definition::meant_by(&question)?;

    let suggestion = suggestion::of_model(&question, &meanings)?;
    let choice = review::choose(&question, &meanings, &suggestion)?;
    let query = Query::new(choice.definition, choice.quarter, choice.year);
    review::approve(&query)?;

    let figures = customers::count(&query)?;
    let text = report::write(&question, &query, choice.notes.as_deref(), &figures);
    Ok(report::publish(&query, text))
}
