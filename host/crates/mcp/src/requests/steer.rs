//! `dev.portcullis/steer`, and calls of the tool with the same effect.

use crate::calls::steering::SteerParams;
use crate::server_context::ServerContext;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::json;

/// Sends a message to a running call and returns the call's id.
pub(crate) fn steer(server: &ServerContext, principal: &Principal, params: SteerParams) -> Result<String, ErrorData> {
    server.running_calls.steer(principal, params)
}

/// A call of the tool `steer_call`.
pub(crate) fn call_tool(server: &ServerContext, principal: &Principal, arguments: JsonObject) -> CallToolResult {
    let params = serde_json::from_value(arguments.into()).map_err(|error| error.to_string());
    let steered = params.and_then(|params| steer(server, principal, params).map_err(|error| describe(&error)));
    let mut result = match steered {
        Ok(call) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(format!("sent to the call {call}"))]);
            result.structured_content = Some(json!({ "call": call }));
            result
        }
        Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
    };
    result.meta = Some(server.meta(None));
    result
}

/// Appends the list of running calls, since a tool's failure has no field for it.
fn describe(error: &ErrorData) -> String {
    match &error.data {
        Some(data) => format!("{}: {}", error.message, data["running"]),
        None => error.message.to_string(),
    }
}
