//! Cline, on the command line.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "Cline", program: |installed| installed.native("@cline/cli", "bin/cline"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let transport = match task.server {
        Access::Stdio(words) => json!({"type": "stdio", "command": words[0], "args": words[1..]}),
        Access::Http(url) => json!({"type": "streamableHttp", "url": url}),
    };
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
