//! Follows a long call with the unmodified rmcp client, as a task. Its connections may be cut at any time.
//!
//! usage: long-job-rmcp TOOL ARGUMENTS URL
//!
//! Same output as long_job.py.

mod connect;

use anyhow::{Context, Result, bail};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, GetTaskParams, Implementation,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A call of a client that is cut off would wait for ever.
const PATIENCE: Duration = Duration::from_secs(3);

/// Declares that it follows tasks.
struct Follower;

impl ClientHandler for Follower {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions.get_or_insert_default().insert(EXTENSION.to_owned(), Default::default());
        ClientConfig::new(capabilities, Implementation::new("portcullis-suite", "0"))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tool, parameters, url] = &arguments[..] else { bail!("usage: long-job-rmcp TOOL ARGUMENTS URL") };
    let target = [url.clone()];
    let mut params = CallToolRequestParams::new(tool.clone());
    params.arguments = serde_json::from_str(parameters)?;
    let client = connect::connect("auto", &target, Follower).await?;
    let CallToolResponse::Task(created) = client.call_tool_once(params).await? else { bail!("the call is no task") };
    drop(client);
    let task = json!(created)["taskId"].as_str().context("a task has an id")?.to_owned();
    let (mut results, mut failures) = (Vec::new(), 0);
    while results.is_empty() {
        let asked = async {
            let client = connect::connect("auto", &target, Follower).await?;
            // It may be cut while it waits: it stays connected for as long as it looks for the end.
            loop {
                let got = json!(client.get_task(GetTaskParams::new(task.clone())).await?);
                if got["status"] != "working" {
                    return anyhow::Ok(got);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        match timeout(PATIENCE, asked).await {
            Ok(Ok(ended)) => results.extend(ended["result"]["content"].as_array().into_iter().flatten().map(text)),
            _ => failures += 1,
        }
    }
    println!("{}", json!({"results": results, "failures": failures}));
    Ok(())
}

fn text(block: &Value) -> Value {
    block["text"].clone()
}
