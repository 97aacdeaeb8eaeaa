//! The report, in Markdown, and where it goes.

use std::fmt::Write;

use portcullis_guest::publish::{self, PublishError};
use portcullis_guest::{Content, ContentData, ResourceLink};

use crate::customers::Figures;
use crate::query::Query;

/// Writes the report.
pub(crate) fn write(question: &str, query: &Query, notes: Option<&str>, figures: &Figures) -> String {
    let Figures { there, left, months } = figures;
    let mut report = format!("# Churn, {}, {}\n\n", query.quarter.name(), query.year);
    let share = match there {
        0 => "nobody was there to leave".to_owned(),
        _ => format!("{:.1} %", 100.0 * f64::from(*left) / f64::from(*there)),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(report, "{left} of {there} left: {share}.\n\n| Month | Left |\n|---|--:|");
    for (month, left) in months {
        let _ = writeln!(report, "| {month} | {left} |");
    }
    let _ = writeln!(report, "\n- Question: {question}\n- Definition: {}\n- Query: {query}", query.definition.name());
    if let Some(notes) = notes {
        let _ = writeln!(report, "- Notes: {notes}");
    }
    report
}

/// Leaves the report behind as a resource, if that is granted, and gives it as text in any case.
pub(crate) fn publish(query: &Query, report: String) -> Vec<Content> {
    let title = format!("Churn, {}, {}", query.quarter.name(), query.year);
    let resource = publish::resource(query.path()).text(&report).title(&title).mime_type("text/markdown");
    match resource.put() {
        Ok(uri) => vec![Content::text(report), link(uri, query, title).into()],
        Err(PublishError::Denied(_)) => vec![Content::text(report)],
        Err(error) => vec![Content::text(report), Content::text(format!("It was not published: {error}"))],
    }
}

fn link(uri: String, query: &Query, title: String) -> ContentData {
    let (name, mime_type) = (query.path(), Some("text/markdown".into()));
    ContentData::ResourceLink(ResourceLink { uri, name, title: Some(title), description: None, mime_type, size: None })
}
