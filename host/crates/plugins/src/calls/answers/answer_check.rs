//! Checks what a guest answered.

use crate::calls::answers::answer::{Answer, CallAnswer, CallUsage, StructuredContent};
use crate::calls::answers::guest_error::{note_of_failure, to_error_text};
use crate::calls::answers::non_tool_answer::{check_completion, check_contents, check_prompt};
use crate::calls::answers::payload_size::count_output;
use crate::catalog::Plugin;
use crate::offer::PluginTool;
use runtime::abi::GuestAnswer;
use runtime::engine::CallError;
use runtime::imports::{CallImports, Content, ToolError, ToolResult};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What an answer is checked against.
pub(in crate::calls) enum AnswerCheck {
    Tool(Arc<PluginTool>),
    Resource { uri: String },
    Prompt,
    Completion,
}

impl AnswerCheck {
    pub(in crate::calls) fn check(
        self,
        plugin: &Plugin,
        imports: &CallImports,
        answer: GuestAnswer,
        usage: &mut CallUsage,
    ) -> Result<CallAnswer, CallError> {
        match (self, answer) {
            (Self::Tool(tool), GuestAnswer::Tool(answer)) => {
                check_tool_answer(&tool, plugin, imports, answer, usage).map(CallAnswer::Tool)
            }
            (Self::Resource { uri }, GuestAnswer::Resource(answer)) => {
                check_contents(&uri, plugin, imports, answer, usage).map(CallAnswer::Resource)
            }
            (Self::Prompt, GuestAnswer::Prompt(answer)) => {
                check_prompt(plugin, imports, answer, usage).map(CallAnswer::Prompt)
            }
            (Self::Completion, GuestAnswer::Completion(answer)) => {
                check_completion(plugin, imports, answer, usage).map(CallAnswer::Completion)
            }
            // Each function answers with its own kind only.
            _ => Err(CallError::Internal),
        }
    }
}

fn check_tool_answer(
    tool: &PluginTool,
    plugin: &Plugin,
    imports: &CallImports,
    answer: Result<ToolResult, ToolError>,
    usage: &mut CallUsage,
) -> Result<Answer, CallError> {
    let failed = |text| ToolResult { content: vec![Content::text(text)], structured: None, is_error: true };
    let result = match answer {
        // The program may not know the host, such as one that was refused a file, so the host adds what it knows.
        Ok(mut result) if result.is_error => {
            let texts: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
            let note = note_of_failure(plugin, imports, &texts.join("\n"));
            result.content.extend(note.map(Content::text));
            result
        }
        answer => answer.or_else(|error| to_error_text(plugin, imports, error).map(failed))?,
    };
    check_result(tool, imports, result, usage)
}

fn check_result(
    tool: &PluginTool,
    imports: &CallImports,
    mut result: ToolResult,
    usage: &mut CallUsage,
) -> Result<Answer, CallError> {
    let invalid = |reason: String| CallError::InvalidOutput { reason };
    count_output(imports, &result, usage)?;
    for content in &result.content {
        content.check().map_err(invalid)?;
    }
    let structured = match result.structured {
        None => None,
        Some(text) => {
            let value = serde_json::from_str::<Value>(&text)
                .map_err(|e| invalid(format!("its structured content is not JSON: {e}")))?;
            Some(StructuredContent { text, value })
        }
    };
    match &structured {
        Some(structured) if !result.is_error => {
            tool.check_result(&structured.value)
                .map_err(|e| invalid(format!("it does not match the tool's output schema: {e}")))?;
        }
        None if !result.is_error && tool.tool.output_schema.is_some() => {
            return Err(invalid("the tool has an output schema but gave no structured content".into()));
        }
        _ => {}
    }
    // For clients that do not support structured content.
    if let (Some(structured), true) = (&structured, result.content.is_empty()) {
        result.content.push(Content::text(structured.text.clone()));
    }
    Ok(Answer { content: result.content, structured, is_error: result.is_error, meta: Map::new() })
}
