//! GitHub's, on the command line.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "Copilot CLI", program: |installed| installed.native("@github/copilot", "copilot"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({"type": "local", "tools": ["*"]}), json!({"type": "http", "tools": ["*"]}), "url");
    task.write(".copilot/mcp-config.json", json!({"mcpServers": {SERVER: server}}));
    command.args(["--prompt", PROMPT, "--allow-all-tools"]);
    command.env("COPILOT_PROVIDER_BASE_URL", task.openai()).env("COPILOT_PROVIDER_API_KEY", "none");
    command.env("COPILOT_MODEL", "scripted").env("COPILOT_OFFLINE", "true").env("COPILOT_AUTO_UPDATE", "false");
}
