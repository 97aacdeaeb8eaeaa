//! Calls that become tasks: which ones, when, and how their requests are answered.

use super::call_result::{self, CallResult, Remedies, check_capabilities};
use crate::calls::live::{Leave, LiveCall};
use crate::client::view::RequestInput;
use crate::server_context::ServerContext;
use crate::tasks::{CreatedTask, EndedCall, Finish, NewTask, NotCreated, TaskCall, TaskRecord, Tasks};
use futures::FutureExt as _;
use plugins::calls::CallTarget;
use protocol::names::TASK_META;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult, JsonObject, MetaObject};
use runtime::engine::work_in_pool_if_large;
use runtime::imports::{Abilities, CallContext, Execution};
use serde_json::json;
use std::sync::Arc;

/// Who can follow a call that becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskFollower {
    /// Nobody can, so the call has to end with its request.
    Nobody,
    /// A client that declares the extension.
    Extension(Remedies),
    /// A client without the extension, which can read resources and call the host's own tools.
    Fallback,
}

/// The response to a request whose call goes on as a task.
pub(crate) enum TaskAnswer {
    Created(CreateTaskResult),
    /// For a client that does not know tasks.
    Text(CallToolResult),
}

impl TaskFollower {
    pub(crate) fn new(declares_tasks: bool, fallback_tools: bool, remedies: Remedies) -> Self {
        match (declares_tasks, fallback_tools) {
            (true, _) => Self::Extension(remedies),
            (false, true) => Self::Fallback,
            (false, false) => Self::Nobody,
        }
    }
}

/// Whether a tool is only called as a task.
pub(super) fn is_task_only(target: &CallTarget) -> bool {
    target.tool().is_some_and(|tool| tool.execution == Execution::TaskOnly)
}

/// The task that a call may become; none if nobody could follow it.
pub(super) fn begins(
    name: &str,
    target: &CallTarget,
    call: &Arc<str>,
    context: &CallContext,
    input: &RequestInput,
    follower: TaskFollower,
    task: Option<String>,
) -> Option<(TaskFollower, NewTask)> {
    let tool = target.tool()?;
    match follower {
        TaskFollower::Nobody => return None,
        // Clients refuse a result without the structured content that the tool's schema promises. A tool that declares that it
        // may run long is listed without a schema.
        TaskFollower::Fallback if tool.output_schema.is_some() && tool.execution == Execution::Inline => return None,
        TaskFollower::Fallback | TaskFollower::Extension(_) => {}
    }
    // If its client does not know tasks, nobody answers the questions of the task.
    let (abilities, declaration) = match follower {
        TaskFollower::Extension(_) => (input.abilities(), input.declaration()),
        TaskFollower::Fallback | TaskFollower::Nobody => (Abilities::default(), None),
    };
    let task_call = TaskCall {
        tool: name.into(),
        version: target.version().to_owned(),
        arguments: target.tool_arguments().to_owned(),
        abilities,
        declaration,
        shows_remedies: follower == TaskFollower::Extension(Remedies::Shown),
        idempotency_key: context.idempotency_key.clone(),
        survive: target.survive(),
    };
    let (principal, correlation) = (context.principal.clone(), context.correlation_id.clone());
    let new = NewTask { principal, call: task_call, id: call.clone(), correlation, task };
    Some((follower, new))
}

/// The error for a tool that can only be called as a task, if the client cannot follow one.
pub(super) fn needs_extension() -> ErrorData {
    let mut error = ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_tasks().build());
    error.message =
        "this tool is only called as a task, and this client does not follow tasks: it has to declare the extension \
                     io.modelcontextprotocol/tasks, or the operator sets `fallback-tools = true` under [server]"
            .into();
    error
}

/// Resolves when a call leaves its request, to the task that takes it over.
pub(super) fn leave(tasks: Arc<Tasks>, new: NewTask) -> Leave<CreatedTask> {
    Box::pin(async move {
        tokio::time::sleep(tasks.limits().inline).await;
        match tasks.create(new).await {
            Ok(created) => Some(created),
            Err(error) => {
                match &error {
                    NotCreated::Full => tracing::info!("a call does not become a task: {error}"),
                    _ => tracing::error!("a call does not become a task: {error}"),
                }
                None
            }
        }
    })
}

/// Lets the call go on as a task, and makes the response to its request.
pub(super) async fn hand_over(
    server: &Arc<ServerContext>,
    live: LiveCall,
    created: CreatedTask,
    follower: TaskFollower,
) -> Result<TaskAnswer, ErrorData> {
    let (view, chunks) = (live.end.view.clone(), live.record());
    let remedies = match follower {
        TaskFollower::Extension(remedies) => remedies,
        TaskFollower::Nobody | TaskFollower::Fallback => {
            // From now on, nobody answers its questions.
            view.set_request(RequestInput::default());
            Remedies::Withheld
        }
    };
    let finish = finish(server.clone(), remedies);
    let Some((id, task)) = created.start(live, finish).await else {
        return Err(ErrorData::internal_error("no task", None));
    };
    let meta = server.call_meta(chunks.call_id(), chunks.correlation());
    Ok(answer(&id, &task, follower, meta))
}

/// The response to a request whose call is this task.
pub(super) fn answer(id: &str, task: &TaskRecord, follower: TaskFollower, mut meta: MetaObject) -> TaskAnswer {
    if let TaskFollower::Extension(_) = follower {
        return TaskAnswer::Created(CreateTaskResult::new(task.to_task(id)).with_meta(meta));
    }
    meta.insert(TASK_META.to_owned(), json!(id));
    let uri = Tasks::uri(id);
    let text = format!(
        "The tool `{}` is still running, as the task {id}; it is not done. Call task_result with this id to wait for its \
         result, task_status to see how it stands, task_cancel to end it. The resource {uri} shows the same.",
        task.tool
    );
    // The result has no link to the resource, because some clients fail at such a result, and others leave the link out.
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.meta = Some(meta);
    TaskAnswer::Text(result)
}

/// Makes the response that the call's request would have got.
pub(super) fn finish(server: Arc<ServerContext>, remedies: Remedies) -> Finish {
    Box::new(move |call, record| {
        async move {
            let usage = Some(call_result::usage_to_json(&call.usage));
            if let Err(error) = check_capabilities(true, &call) {
                return EndedCall { answer: Err(error), usage };
            }
            let (bytes, owner) = (call.usage.output_bytes, record.owner());
            let meta = server.call_meta(record.call_id(), record.correlation());
            let convert = move || match call_result::to_result(call, true, meta, &record, remedies)? {
                CallResult::Tool(result) => to_object(&result),
                CallResult::Prompt(_) | CallResult::Resource(_) => call_result::unexpected_result(),
            };
            EndedCall { answer: work_in_pool_if_large(bytes, || owner, convert).await, usage }
        }
        .boxed()
    })
}

pub(super) fn to_object(result: &CallToolResult) -> Result<JsonObject, ErrorData> {
    let failed = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    match serde_json::to_value(result).map_err(failed)? {
        serde_json::Value::Object(object) => Ok(object),
        _ => call_result::unexpected_result(),
    }
}
