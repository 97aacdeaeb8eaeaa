//! Continue, on the command line.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "Continue", program: |installed| installed.script("@continuedev/cli", "dist/cn.js"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({"name": SERVER}), json!({"name": SERVER, "type": "streamable-http"}), "url");
    let model = json!({
        "name": "scripted", "provider": "openai", "model": "scripted", "apiBase": task.openai(), "apiKey": "none",
        "useResponsesApi": false, "roles": ["chat"], "capabilities": ["tool_use"],
    });
    let config =
        json!({"name": "journey", "version": "1.0.0", "schema": "v1", "models": [model], "mcpServers": [server]});
    // JSON is YAML.
    let config = task.write("config.yaml", config);
    command.args(["--print", PROMPT, "--auto", "--config"]).arg(config);
    command.env("CONTINUE_TELEMETRY_ENABLED", "0");
}
