//! Short constructors of results and errors.

use crate::bindings::portcullis::plugin::agent_tools::{AgentError, AgentResult};
use crate::{Content, ContentData, Outcome, ToolError, ToolResult};

/// One piece of text content.
pub fn text(words: impl Into<String>) -> Content {
    Content { data: ContentData::Text(words.into()), annotations: None }
}

/// A result with one piece of text.
impl From<String> for ToolResult {
    fn from(words: String) -> Self {
        Self { content: vec![text(words)], structured: None, is_error: false }
    }
}

/// A result with this JSON text, which is not checked.
pub fn structured(json: impl Into<String>) -> Outcome {
    Ok(ToolResult { content: vec![], structured: Some(json.into()), is_error: false })
}

/// The tool's own failure.
pub fn failed(why: impl std::fmt::Display) -> ToolError {
    ToolError::Failed(why.to_string())
}

/// The result of a reverse call as a tool result.
pub fn answered(result: AgentResult) -> ToolResult {
    ToolResult { content: result.content, structured: result.structured, is_error: false }
}

/// Converts the error of a reverse call, as a well-behaved plugin would.
pub fn agent_failure(error: AgentError) -> ToolError {
    match error {
        AgentError::Denied(denial) => ToolError::Denied(denial),
        AgentError::Exhausted(exhaustion) => ToolError::Exhausted(exhaustion),
        AgentError::Cancelled => ToolError::Cancelled,
        AgentError::Cycle(name) => failed(format!("cycle: {name}")),
        AgentError::ToolError(result) => match result.content.into_iter().next().map(|content| content.data) {
            Some(ContentData::Text(words)) => failed(words),
            _ => failed("the tool failed without a word"),
        },
        other => failed(format!("{other:?}")),
    }
}
