//! OpenHands, on the command line.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "OpenHands", program: |installed| installed.python("openhands", "openhands"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({}), json!({"transport": "http"}), "url");
    task.write(".openhands/mcp.json", json!({"mcpServers": {SERVER: server}}));
    command.args(["--headless", "--override-with-envs", "--always-approve", "--task", PROMPT]);
    command.env("LLM_BASE_URL", task.openai()).env("LLM_API_KEY", "none").env("LLM_MODEL", "openai/scripted");
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("OPENHANDS_SUPPRESS_BANNER", "1");
}
