//! Moonshot's.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent = Agent {
    name: "Kimi Code",
    program: |installed| installed.newer_script("@moonshot-ai/kimi-code", "dist/main.mjs"),
    instruct,
};

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = match task.server {
        Access::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
        Access::Http(url) => json!({"transport": "http", "url": url}),
    };
    task.write(".kimi-code/mcp.json", json!({"mcpServers": {SERVER: server}}));
    let provider = format!("type = \"openai\"\nbase_url = {:?}\napi_key = \"none\"", task.openai());
    let model = "provider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 2000000";
    let config =
        format!("default_model = \"scripted\"\n[providers.scripted]\n{provider}\n[models.scripted]\n{model}\n");
    task.write(".kimi-code/config.toml", config);
    command.args(["--prompt", PROMPT]);
}
