//! `dev.portcullis/steer`, and calls of the tool with the same effect.

use super::tasks::to_error;
use crate::calls::steering::{SteerParams, Steered};
use crate::server_context::ServerContext;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::json;
use std::time::Duration;

/// How long a numbered message waits for a call that runs again to catch up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends a message to a running call. If the message is for the call of a task that does not run at the moment, it is kept.
pub(crate) async fn steer(
    server: &ServerContext,
    principal: &Principal,
    params: SteerParams,
) -> Result<Steered, ErrorData> {
    let steered = try_steer(server, principal, params.clone()).await;
    match params.of_one_call() {
        // The call may have been suspended just before. Now that it does not run, this second attempt makes it go on and stay.
        Some((call, _)) if steered.is_err() && !server.running_calls.has(principal, call) => {
            try_steer(server, principal, params).await
        }
        _ => steered,
    }
}

async fn try_steer(server: &ServerContext, principal: &Principal, params: SteerParams) -> Result<Steered, ErrorData> {
    if let Some((call, message)) = params.of_one_call() {
        let is_numbered = message.seq.is_some();
        if !server.running_calls.has(principal, call)
            && server.tasks.steer(principal, call, message).await.map_err(to_error)?
        {
            return Ok(Steered { call: call.to_owned(), next: None });
        }
        if is_numbered {
            // If the call does not catch up in time, it reports that itself.
            let _ = tokio::time::timeout(PATIENCE, server.running_calls.caught_up(principal, call)).await;
        }
    }
    server.running_calls.steer(principal, params)
}

/// Handles a call of the tool `steer_call`.
pub(crate) async fn call_tool(server: &ServerContext, principal: &Principal, arguments: JsonObject) -> CallToolResult {
    let params = serde_json::from_value(arguments.into()).map_err(|error| error.to_string());
    let steered = match params {
        Ok(params) => steer(server, principal, params).await.map_err(|error| describe(&error)),
        Err(error) => Err(error),
    };
    let mut result = match steered {
        Ok(Steered { call, next: _ }) => {
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
    match error.data.as_ref().and_then(|data| data.get("running")) {
        Some(running) => format!("{}: {running}", error.message),
        None => error.message.to_string(),
    }
}
