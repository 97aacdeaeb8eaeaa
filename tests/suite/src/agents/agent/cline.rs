//! Cline, on the command line.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "Cline", program: |installed| installed.native("@cline/cli", "bin/cline"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let transport = task.server(json!({"type": "stdio"}), json!({"type": "streamableHttp"}), "url");
    let settings = ".cline/data/settings";
    let servers = json!({"mcpServers": {SERVER: {"transport": transport}}});
    task.write(&format!("{settings}/cline_mcp_settings.json"), servers);
    let provider = "openai-compatible";
    let model = json!({"provider": provider, "apiKey": "none", "model": "scripted", "baseUrl": task.openai()});
    let providers = json!({
        "version": 1, "lastUsedProvider": provider, "modes": {},
        "providers": {provider: {"settings": model, "updatedAt": "2026-11-01T00:00:00Z", "tokenSource": "manual"}},
    });
    task.write(&format!("{settings}/providers.json"), providers);
    command.arg(PROMPT);
}
