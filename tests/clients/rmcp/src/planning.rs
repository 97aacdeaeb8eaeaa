//! Lets the unmodified rmcp client make one call of a server's planner, whose calendar lives where the lane says, and prints
//! what it saw as one line of JSON.
//!
//! usage: planning-rmcp ERA LANE CALL URL                      (Streamable HTTP)
//!        planning-rmcp ERA LANE CALL -- COMMAND [ARG ...]     (stdio)
//!
//! Arguments and output are those of planning.py; LANE may also be request. There is no adapter for this client: what it
//! takes is here.
#![allow(deprecated, reason = "sampling is deprecated in the protocol, and a server may still ask for it")]

mod calendar;
mod connect;

use anyhow::{Context, Result, bail};
use calendar::{Agent, Calendar, EXTENSION};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, Implementation, RequestMetaObject, ServerResult,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How many rounds this client goes along with.
const MAX_ROUNDS: usize = 32;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(era), Some(lane), Some(call)) = (arguments.next(), arguments.next(), arguments.next()) else {
        bail!("usage: planning-rmcp auto|legacy LANE CALL (URL | -- COMMAND [ARG ...])")
    };
    let target: Vec<String> = arguments.skip_while(|argument| argument == "--").collect();
    let call: Value = serde_json::from_str(&call).context("CALL is JSON, {tool, arguments}")?;
    let calendar = Arc::new(Calendar::default());
    let agent = Agent { calendar: calendar.clone(), lane: lane.clone() };
    let client = connect::connect(&era, &target, agent).await?;
    if lane == "live" {
        calendar::listen(client.peer(), &calendar).await;
    }
    let mut params = CallToolRequestParams::new(call["tool"].as_str().unwrap_or_default().to_owned());
    params.arguments = call["arguments"].as_object().cloned();
    let result = match lane.as_str() {
        "retry" => retried(&client, &calendar, params).await,
        _ => client.call_tool_with_mrtr_max_rounds(params, MAX_ROUNDS).await.map(|result| json!(result)),
    };
    let version = client.peer().peer_info().map(|info| info.protocol_version.to_string());
    let name = format!("rmcp {}", Implementation::from_build_env().version);
    let mut seen = json!({"client": name, "protocolVersion": version});
    match result {
        Ok(result) => seen["result"] = result,
        Err(ServiceError::McpError(error)) => seen["error"] = json!(error),
        Err(error) => seen["error"] = json!({"message": error.to_string()}),
    }
    {
        let counts = calendar.counts();
        (seen["served"], seen["asked"]) = (json!(counts.served), json!(counts.asked));
    }
    println!("{seen}");
    client.cancel().await?;
    Ok(())
}

/// Makes the call again with what the server wants called, until it has its result. The client takes results of types that
/// it does not know as they are.
async fn retried(
    client: &RunningService<RoleClient, Agent>,
    calendar: &Calendar,
    mut params: CallToolRequestParams,
) -> Result<Value, ServiceError> {
    for _ in 0..MAX_ROUNDS {
        let request = CallToolRequest::new(params.clone());
        let wanted = match client.peer().send_request(ClientRequest::CallToolRequest(request)).await? {
            ServerResult::CallToolResult(result) => return Ok(json!(result)),
            ServerResult::CustomResult(result) if result.0["resultType"] == EXTENSION => result.0,
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        let calls = wanted["toolCalls"].as_object().ok_or(ServiceError::UnexpectedResponse)?;
        let outcomes: Map<_, _> = calls.iter().map(|(key, call)| (key.clone(), calendar.outcome(call))).collect();
        let mut meta = RequestMetaObject::default();
        let retry = json!({"continuation": wanted["continuation"], "results": outcomes});
        meta.insert(EXTENSION.to_owned(), retry);
        params.meta = Some(meta);
    }
    Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: MAX_ROUNDS })
}
