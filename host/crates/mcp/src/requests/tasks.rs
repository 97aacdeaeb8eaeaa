//! `tasks/get`, `tasks/update`, `tasks/cancel`.

use crate::client_tools::in_tasks;
use crate::request_context::LargeAnswer;
use crate::server_context::ServerContext;
use crate::tasks::{ShownTask, ShownTo, TaskError};
use policy::{PluginId, Side};
use protocol::names::USAGE_META;
use rmcp::ErrorData;
use rmcp::model::{CancelTaskParams, GetTaskParams, GetTaskResult, UpdateTaskParams};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::is_large;

pub(crate) async fn get(
    server: &ServerContext,
    request: GetTaskParams,
    context: RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    let principal = server.principal(&context);
    let task = server.tasks.get(&principal, &request.task_id).await.map_err(to_error)?;
    if is_large(task.size)
        && let Some(answer) = LargeAnswer::from_message(&context.extensions)
    {
        let plugin = task.tool.split("__").next().unwrap_or_default();
        answer.set((principal, PluginId { side: Side::Server, name: plugin.into() }));
    }
    let ShownTask { task: shown, calls } = server.tasks.show(&task, &request.task_id, shown_to(&context)?);
    let mut result = GetTaskResult::new(shown);
    let mut meta = server.call_meta(&task.call, task.correlation.as_deref());
    if let Some(usage) = task.usage {
        meta.insert(USAGE_META.to_owned(), usage);
    }
    if let Some((name, value)) = calls.map(in_tasks::to_meta) {
        meta.insert(name, value);
    }
    result.meta = Some(meta);
    Ok(result)
}

/// Whom the response to this request shows a task to.
pub(super) fn shown_to(context: &RequestContext<RoleServer>) -> Result<ShownTo, ErrorData> {
    Ok(if in_tasks::declares_calls(context)? { ShownTo::ClientWithTools } else { ShownTo::Others })
}

pub(crate) async fn update(
    server: &ServerContext,
    request: UpdateTaskParams,
    context: RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let UpdateTaskParams { task_id, input_responses, .. } = request;
    let (principal, outcomes) = (server.principal(&context), in_tasks::outcomes(&context)?);
    server.tasks.answer(&principal, &task_id, input_responses).await.map_err(to_error)?;
    server.tasks.answer_calls(&principal, &task_id, outcomes).await.map_err(to_error)
}

pub(crate) async fn cancel(
    server: &ServerContext,
    request: CancelTaskParams,
    context: RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    server.tasks.cancel(&server.principal(&context), &request.task_id).await.map_err(to_error)
}

pub(super) fn to_error(error: TaskError) -> ErrorData {
    match error {
        TaskError::Unknown | TaskError::TooMuch | TaskError::Full => ErrorData::invalid_params(error.to_string(), None),
        TaskError::Store(_) => {
            tracing::error!("{error}");
            ErrorData::internal_error("the host cannot read its tasks now; its log has the details", None)
        }
    }
}
