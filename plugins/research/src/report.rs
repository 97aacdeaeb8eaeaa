//! The report, in Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::library::Passage;

/// Writes the report; without findings it says so.
pub(crate) fn write(topic: &str, findings: Option<&str>, passages: &[&Passage]) -> String {
    let findings = findings.unwrap_or("(no summary: this client has no model to ask)");
    let mut report = format!("# {topic}\n\n## Key findings\n\n{findings}\n\n## Passages\n\n");
    // Writing to a string cannot fail.
    for Passage { source, text } in passages {
        let _ = writeln!(report, "- {text} [{source}]");
    }
    let sources: BTreeSet<&str> = passages.iter().map(|passage| passage.source.as_str()).collect();
    report.push_str("\n## Sources\n\n");
    for source in sources {
        let _ = writeln!(report, "- {source}");
    }
    report
}
