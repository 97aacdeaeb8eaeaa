//! Lets the unmodified rmcp client answer a server's questions and prints what it saw as one line of JSON.
//!
//! usage: asking-rmcp ERA SCRIPT URL                      (Streamable HTTP)
//!        asking-rmcp ERA SCRIPT -- COMMAND [ARG ...]     (stdio)
//!
//! Arguments and output are those of asking.py.
#![allow(deprecated, reason = "sampling and roots are deprecated in the protocol, and servers still ask for them")]

mod connect;
mod person;

use anyhow::{Context, Result, bail};
use person::{Call, Person};
use rmcp::model::{CallToolRequestParams, Implementation, RequestMetaObject};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a question may stay open after its call was cancelled.
const WITHDRAWAL: Duration = Duration::from_secs(5);
/// How long to wait for progress that is still under way.
const LATE_PROGRESS: Duration = Duration::from_secs(1);

type Client = RunningService<RoleClient, Person>;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(era), Some(script)) = (arguments.next(), arguments.next()) else {
        bail!("usage: asking-rmcp auto|legacy SCRIPT (URL | -- COMMAND [ARG ...])")
    };
    let target: Vec<String> = arguments.skip_while(|argument| argument == "--").collect();
    let script: Vec<Value> = serde_json::from_str(&script).context("SCRIPT is a JSON list of calls")?;
    let (mut version, mut seen) = (None, Map::new());
    for able in [true, false] {
        let mine: Vec<&Value> = script.iter().filter(|call| (call["answer"] != "unable") == able).collect();
        if mine.is_empty() {
            continue;
        }
        let client = connect::connect(&era, &target, Person::new(able)).await?;
        version = client.peer().peer_info().map(|info| info.protocol_version.to_string());
        for call in mine {
            seen.insert(name(call).to_owned(), make(&client, call).await);
        }
        client.cancel().await?;
    }
    let calls: Vec<_> = script.iter().filter_map(|call| seen.remove(name(call))).collect();
    let client = format!("rmcp {}", Implementation::from_build_env().version);
    println!("{}", json!({"client": client, "protocolVersion": version, "calls": calls}));
    Ok(())
}

fn name(call: &Value) -> &str {
    call["name"].as_str().unwrap_or_default()
}

/// Makes one call and says what was seen.
async fn make(client: &Client, script: &Value) -> Value {
    let call = client.service().begin(script);
    let mut params = CallToolRequestParams::new(script["tool"].as_str().unwrap_or_default().to_owned());
    params.arguments = script["arguments"].as_object().cloned();
    let mut meta = RequestMetaObject::default();
    meta.insert("dev.portcullis/correlationId".to_owned(), script["name"].clone());
    params.meta = Some(meta);
    let answered = tokio::select! {
        answered = client.call_tool(params) => Some(answered),
        // Dropping the call is how this client gives one up.
        () = given_up(&call, script) => None,
    };
    let mut seen = json!({"name": script["name"]});
    match answered {
        Some(Ok(result)) => seen["result"] = json!(result),
        Some(Err(ServiceError::McpError(error))) => seen["error"] = json!(error),
        Some(Err(error)) => seen["error"] = json!({"message": error.to_string()}),
        None => seen["error"] = json!({"message": "cancelled by the client"}),
    }
    let reports = script["reports"].as_u64().unwrap_or_default();
    let _ = tokio::time::timeout(LATE_PROGRESS, call.reported(reports as usize)).await;
    if script["answer"] == "never" {
        seen["withdrawn"] = tokio::time::timeout(WITHDRAWAL, call.withdrawn.notified()).await.is_ok().into();
    }
    (seen["asked"], seen["progress"]) = call.heard();
    seen
}

/// When the script wants the call to be given up.
async fn given_up(call: &Call, script: &Value) {
    match script["answer"].as_str() {
        Some("never") => call.asked.notified().await,
        Some("stop") => {
            call.answered.notified().await;
            tokio::time::sleep(Duration::from_millis(script["stop_ms"].as_u64().unwrap_or_default())).await;
        }
        _ => std::future::pending().await,
    }
}
