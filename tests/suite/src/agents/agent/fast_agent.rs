//! The agent of the framework of this name, in Python.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "fast-agent", program: |installed| installed.python("fast-agent", "fast-agent"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server(json!({"transport": "stdio"}), json!({"transport": "http"}), "url");
    let config = json!({
        "default_model": "generic.scripted",
        "generic": {"base_url": task.openai(), "api_key": "none"},
        "mcp": {"servers": {SERVER: server}},
    });
    // JSON is YAML.
    let config = task.write("fastagent.config.yaml", config);
    command.arg("go").arg("--config-path").arg(config).args(["--servers", SERVER, "--message", PROMPT]);
}
