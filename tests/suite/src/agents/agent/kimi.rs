//! Moonshot's.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent = Agent {
    name: "Kimi Code",
    program: |installed| installed.newer_script("@moonshot-ai/kimi-code", "dist/main.mjs"),
    instruct,
};

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({}), json!({"transport": "http"}), "url");
    task.write(".kimi-code/mcp.json", json!({"mcpServers": {SERVER: server}}));
    let provider = format!("type = \"openai\"\nbase_url = {:?}\napi_key = \"none\"", task.openai());
    let model = "provider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 2000000";
    let config =
        format!("default_model = \"scripted\"\n[providers.scripted]\n{provider}\n[models.scripted]\n{model}\n");
    task.write(".kimi-code/config.toml", config);
    command.args(["--prompt", PROMPT]);
}
