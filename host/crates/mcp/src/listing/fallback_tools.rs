//! The host's own tools, for clients that cannot send the corresponding requests.

use crate::calls::steering::{self, STEER_CALL};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const TASK_STATUS: &str = "task_status";
pub(crate) const TASK_RESULT: &str = "task_result";
pub(crate) const TASK_CANCEL: &str = "task_cancel";

/// The names of these tools. While they are listed, no plugin's tool can have such a name.
pub const FALLBACK_TOOLS: &[&str] = &[STEER_CALL, TASK_STATUS, TASK_RESULT, TASK_CANCEL];

/// Seconds that a call of `task_result` may wait. Clients give a call up after a minute.
pub(crate) const MAX_WAIT: u64 = 50;
pub(crate) const DEFAULT_WAIT: u64 = 20;

pub(crate) fn tools() -> impl Iterator<Item = Tool> {
    let wait = json!({
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_WAIT,
        "description": format!("Seconds to wait for the end of the task; {DEFAULT_WAIT} if left out")
    });
    let after = json!({
        "type": "integer",
        "minimum": 0,
        "description": "Shows only the output after the chunk with this `seq`; all of it if left out"
    });
    let status = task_tool(
        TASK_STATUS,
        "See how a task stands",
        "Says how a task stands that another tool's call has become: working, completed, failed or cancelled, its last message and its output so far.",
        json!({ "after": after }),
        ToolAnnotations::from_raw(None, Some(true), None, None, Some(false)),
    );
    let result = task_tool(
        TASK_RESULT,
        "Wait for a task",
        "Waits for the end of a task and returns the result of its tool. If it takes longer, says so: then call it again.",
        json!({ "wait": wait, "after": after }),
        ToolAnnotations::from_raw(None, Some(true), None, None, Some(false)),
    );
    let cancel = task_tool(
        TASK_CANCEL,
        "Cancel a task",
        "Cancels a task. What it has done until then stays done.",
        json!({}),
        ToolAnnotations::from_raw(None, Some(false), Some(true), Some(true), Some(false)),
    );
    [steering::tool(), status, result, cancel].into_iter()
}

fn task_tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    more: Value,
    annotations: ToolAnnotations,
) -> Tool {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "task": {
                "type": "string",
                "minLength": 1,
                "maxLength": 128,
                "description": "Id of the task, as in the answer of the tool whose call has become one"
            }
        },
        "required": ["task"],
        "additionalProperties": false
    });
    for (key, property) in more.as_object().into_iter().flatten() {
        schema["properties"][key] = property.clone();
    }
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(name, description, Arc::new(schema));
    tool.title = Some(title.into());
    tool.annotations = Some(annotations);
    tool
}
