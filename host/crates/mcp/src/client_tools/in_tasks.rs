//! Client tool calls that a task waits for. Clients that declare the extension see them with the task, and send the outcomes
//! with `tasks/update`.

use super::params::declaration;
use protocol::names::CLIENT_TOOLS;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

/// Whether a request of 2026-07-28 declares that its client can handle such calls.
pub(crate) fn declares_calls(context: &RequestContext<RoleServer>) -> Result<bool, ErrorData> {
    Ok(declaration(context, None, true)?.is_some_and(|declaration| declaration.lanes.retry))
}

/// The `_meta` of a task about the calls that it waits for.
pub(crate) fn to_meta(calls: Map<String, Value>) -> (String, Value) {
    (CLIENT_TOOLS.to_owned(), json!({ "toolCalls": calls }))
}

/// The outcomes in a request, by the keys of the calls. Ignored if the request does not declare the extension.
pub(crate) fn outcomes(context: &RequestContext<RoleServer>) -> Result<Map<String, Value>, ErrorData> {
    if !declares_calls(context)? {
        return Ok(Map::new());
    }
    match context.meta.get(CLIENT_TOOLS).and_then(|fields| fields.get("results")) {
        None => Ok(Map::new()),
        Some(Value::Object(outcomes)) => Ok(outcomes.clone()),
        Some(_) => {
            let why = format!("_meta[\"{CLIENT_TOOLS}\"] has `results` that are not an object");
            Err(ErrorData::invalid_params(why, None))
        }
    }
}
