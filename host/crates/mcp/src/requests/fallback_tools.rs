//! Calls of the host's own tools.

use super::{steer, task_resource};
use crate::listing::fallback_tools::{DEFAULT_WAIT, MAX_WAIT, TASK_CANCEL, TASK_RESULT, TASK_STATUS};
use crate::server_context::ServerContext;
use crate::tasks::{TaskError, TaskRecord, TaskState, Tasks};
use platform::changes::Change;
use policy::Principal;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskParams {
    task: String,
    wait: Option<u64>,
    after: Option<u64>,
}

pub(crate) async fn call(
    server: &ServerContext,
    principal: &Principal,
    name: &str,
    arguments: JsonObject,
) -> CallToolResult {
    let mut result = match name {
        TASK_STATUS | TASK_RESULT | TASK_CANCEL => {
            let params =
                serde_json::from_value(arguments.into()).map_err(|error| format!("invalid arguments: {error}"));
            let called = match params {
                Ok(params) => call_task_tool(server, principal, name, params).await.map_err(|error| error.to_string()),
                Err(error) => Err(error),
            };
            called.unwrap_or_else(|reason| CallToolResult::error(vec![ContentBlock::text(reason)]))
        }
        _ => return steer::call_tool(server, principal, arguments).await,
    };
    result.meta.get_or_insert_with(|| server.meta(None));
    result
}

async fn call_task_tool(
    server: &ServerContext,
    principal: &Principal,
    name: &str,
    TaskParams { task: id, wait, after }: TaskParams,
) -> Result<CallToolResult, TaskError> {
    if name == TASK_CANCEL {
        server.tasks.cancel(principal, &id).await?;
        // Waits a moment, because the call ends soon after it is cancelled.
        wait_for_end(server, principal, &id, Duration::from_secs(1)).await?;
    }
    if name == TASK_RESULT {
        let wait = Duration::from_secs(wait.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT));
        let task = wait_for_end(server, principal, &id, wait).await?;
        let ended = match &task.state {
            TaskState::Completed { result } => serde_json::from_value(Value::Object(result.clone())).ok(),
            TaskState::Failed { error } => Some(failed(&error["message"])),
            TaskState::Cancelled => Some(failed(&task.message.clone().unwrap_or_default().into())),
            TaskState::Working | TaskState::InputRequired { .. } => None,
        };
        if let Some(result) = ended {
            return Ok(result);
        }
    }
    let query = after.map(|seq| format!("after={seq}"));
    let document = task_resource::document(server, principal, &id, query.as_deref()).await?;
    let mut result = CallToolResult::success(vec![ContentBlock::text(document.to_string())]);
    result.structured_content = Some(document);
    Ok(result)
}

fn failed(why: &Value) -> CallToolResult {
    let text = why.as_str().filter(|why| !why.is_empty()).unwrap_or("the task was cancelled");
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns the task when it has ended, or when the time is over.
async fn wait_for_end(
    server: &ServerContext,
    principal: &Principal,
    id: &str,
    time: Duration,
) -> Result<TaskRecord, TaskError> {
    let (mut changes, uri) = (server.changes.subscribe(), Tasks::uri(id));
    let ended = async {
        loop {
            let task = server.tasks.get(principal, id).await?;
            if task.has_ended() {
                return Ok(task);
            }
            loop {
                match changes.recv().await {
                    Ok(Change::Resource(_, changed)) if changed == uri => break,
                    Err(RecvError::Lagged(_)) => break,
                    // The notifier lives as long as the server.
                    Err(RecvError::Closed) => return Ok(task),
                    Ok(_) => {}
                }
            }
        }
    };
    match tokio::time::timeout(time, ended).await {
        Ok(ended) => ended,
        Err(_) => server.tasks.get(principal, id).await,
    }
}
