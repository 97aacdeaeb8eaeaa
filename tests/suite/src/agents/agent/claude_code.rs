//! Anthropic's.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent = Agent {
    name: "Claude Code",
    program: |installed| installed.native("@anthropic-ai/claude-code", "claude"),
    instruct,
};

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({"type": "stdio"}), json!({"type": "http"}), "url");
    let servers = task.write("mcp.json", json!({"mcpServers": {SERVER: server}}));
    command.args(["-p", PROMPT, "--strict-mcp-config", "--mcp-config"]).arg(servers);
    command.arg("--allowedTools").arg(format!("mcp__{SERVER}"));
    command.env("ANTHROPIC_BASE_URL", task.model.url("")).env("ANTHROPIC_API_KEY", "none");
    // Otherwise the model must search for tools before it sees them.
    command.env("ENABLE_TOOL_SEARCH", "false").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
}
