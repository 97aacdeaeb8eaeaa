//! The summary's way to the agent's notes.

use portcullis_guest::agent_tools::{self, AgentError, CallOptions};
use portcullis_guest::{ToolError, log};
use serde::{Deserialize, Serialize};

use crate::report::{Note, Report};
use crate::text;

const TOOL: &str = "notes.add";

#[derive(Serialize)]
struct Arguments<'a> {
    title: String,
    text: String,
    tags: &'a [&'a str],
}

#[derive(Deserialize)]
struct Saved {
    id: String,
    path: String,
}

/// Saves the summary. Whatever goes wrong is part of the report and no reason to lose it, except a cancelled call.
pub(crate) fn save(report: &Report) -> Result<Note, ToolError> {
    let arguments =
        Arguments { title: format!("Survey of {}", report.path), text: text::note(report), tags: &["survey"] };
    let options = CallOptions { purpose: Some("save the survey's summary".to_owned()), ..CallOptions::default() };
    match agent_tools::call_with(TOOL, &arguments, &options) {
        Ok(Saved { id, path }) => Ok(Note::Saved { id, path }),
        Err(AgentError::Cancelled) => Err(ToolError::Cancelled),
        Err(error) => {
            log::info!("the summary was not saved: {error}");
            Ok(Note::NotSaved { reason: error.to_string() })
        }
    }
}
