//! Shows a task as a resource, for clients that do not know tasks.

use super::tasks::to_error;
use crate::listing::published;
use crate::server_context::ServerContext;
use crate::tasks::{TASK_URI, TaskError};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::ReadResourceResult;
use runtime::imports::ResourceBody;
use serde_json::{Value, json};
use services::principal_store::{ResourceSnapshot, RunLog};

/// Reads `portcullis://tasks/<id>`; `rest` is the part after the prefix. None if this principal has no such task.
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

/// The state of a task: the content of `tasks/get`, with the tool, and with the log of its output while that is kept.
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
    let log = RunLog::uri_of(&task.call);
    let asked = query.map_or_else(|| log.clone(), |query| format!("{log}?{query}"));
    let run = match server.principal_store.read(principal, &asked) {
        Some(ResourceSnapshot { body: ResourceBody::Text(text), .. }) => serde_json::from_str(&text).ok(),
        // The log is in memory, and is kept only for some time. After that, the stored output is used.
        _ => server.tasks.output(id).await?.and_then(|text| after(&text, query)),
    };
    if let Some(Value::Object(run)) = run {
        let part = |name: &str| run.get(name).cloned().unwrap_or_default();
        document["output"] =
            json!({ "chunks": part("chunks"), "dropped": part("dropped"), "next": part("next"), "log": log });
    }
    Ok(document)
}

/// The requested part of a stored log, in the form in which the log itself would return it.
fn after(text: &str, query: Option<&str>) -> Option<Value> {
    let mut run: Value = serde_json::from_str(text).ok()?;
    let Some(query) = query else { return Some(run) };
    let from = query.strip_prefix("after=")?.parse::<u64>().ok()?.saturating_add(1);
    let (next, chunks) = (run["next"].as_u64()?, run["chunks"].as_array_mut()?);
    chunks.retain(|chunk| chunk["seq"].as_u64().is_some_and(|seq| seq >= from));
    let kept = chunks.len() as u64;
    run["dropped"] = next.saturating_sub(from).saturating_sub(kept).into();
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_log_is_read_from_any_chunk_on() {
        let chunk = |seq: u64| json!({"seq": seq, "content": []});
        let stored = json!({"chunks": [chunk(3), chunk(4), chunk(6)], "next": 7, "dropped": 4}).to_string();
        let seen = |query| {
            let run = after(&stored, query)?;
            Some((run["chunks"].as_array()?.len(), run["dropped"].as_u64()?))
        };
        assert_eq!((seen(None), seen(Some("after=3"))), (Some((3, 4)), Some((2, 1))));
        assert_eq!((seen(Some("after=0")), seen(Some("after=6"))), (Some((3, 3)), Some((0, 0))));
        assert_eq!((seen(Some("after=x")), seen(Some("before=1"))), (None, None));
    }
}
