//! A task as a resource, for clients that do not know tasks.

use super::tasks::to_error;
use crate::listing::published;
use crate::server_context::ServerContext;
use crate::tasks::{TASK_URI, TaskError};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::ReadResourceResult;
use runtime::imports::ResourceBody;
use serde_json::{Value, json};
use services::principal_store::ResourceSnapshot;

/// Reads `portcullis://tasks/<id>`; `rest` is what comes after the prefix. None if this principal has no such task.
pub(super) async fn read(
    server: &ServerContext,
    principal: &Principal,
    rest: &str,
) -> Result<Option<ReadResourceResult>, ErrorData> {
    let (id, query) = rest.split_once('?').map_or((rest, None), |(id, query)| (id, Some(query)));
    let document = match document(server, principal, id, query).await {
        Ok(document) => document,
        Err(TaskError::Unknown) => return Ok(None),
        Err(error) => return Err(to_error(error)),
    };
    let snapshot = ResourceSnapshot {
        uri: format!("{TASK_URI}{rest}"),
        mime_type: Some("application/json".into()),
        body: ResourceBody::Text(document.to_string()),
        source: None,
    };
    Ok(Some(published::to_read_result(snapshot, server.meta(None))))
}

/// How a task stands: what `tasks/get` says, with the tool, and the log of its output while it is kept.
pub(super) async fn document(
    server: &ServerContext,
    principal: &Principal,
    id: &str,
    query: Option<&str>,
) -> Result<Value, TaskError> {
    let task = server.tasks.get(principal, id).await?;
    let mut document = serde_json::to_value(task.to_detailed(id)).unwrap_or_default();
    document["tool"] = task.tool.into();
    document["call"] = task.call.as_str().into();
    let log = format!("portcullis://runs/{}", task.call);
    let asked = query.map_or_else(|| log.clone(), |query| format!("{log}?{query}"));
    if let Some(ResourceSnapshot { body: ResourceBody::Text(text), .. }) =
        server.principal_store.read(principal, &asked)
        && let Ok(Value::Object(run)) = serde_json::from_str(&text)
    {
        let part = |name: &str| run.get(name).cloned().unwrap_or_default();
        document["output"] =
            json!({ "chunks": part("chunks"), "dropped": part("dropped"), "next": part("next"), "log": log });
    }
    Ok(document)
}
