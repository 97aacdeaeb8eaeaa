//! The research itself.

use portcullis_guest::client::{self, Abilities};
use portcullis_guest::{ToolError, progress};

use crate::library::Library;
use crate::{findings, lookup, report};

/// Passages that the model and the reader get. What fits into a prompt, and into a reader's patience.
const PASSAGES: usize = 8;

/// Gathers, analyses, summarises, finalises.
pub(crate) fn research(topic: &str, tools: bool) -> Result<String, ToolError> {
    let topic = topic.split_whitespace().collect::<Vec<_>>().join(" ");

    step(0, "gather");
    let library = Library::read()?;
    step(1, "analyse");
    let passages = library.about(&topic, PASSAGES);
    if passages.is_empty() {
        return Ok(format!("Nothing in the library is about {topic}."));
    }

    step(2, "summarise");
    let findings = match client::supported() {
        Abilities { sample_tools: true, .. } if tools => Some(lookup::findings(&topic, &passages, &library)?),
        Abilities { sample: true, .. } => Some(findings::ask(&topic, &passages)?),
        _ => None,
    };

    step(3, "finalise");
    Ok(report::write(&topic, findings.as_deref(), &passages))
}

fn step(done: u8, what: &str) {
    progress::report_with(done.into(), Some(4.0), what);
}
