//! Qwen Code, which is made of Gemini CLI.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "Qwen Code", program: |installed| installed.script("@qwen-code/qwen-code", "cli.js"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let mut server = match task.server {
        Access::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
        Access::Http(url) => json!({"httpUrl": url}),
    };
    server["trust"] = true.into();
    let settings = json!({
        "mcpServers": {SERVER: server},
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": "scripted"},
        // Otherwise the model must search for tools before it sees them.
        "tools": {"toolSearch": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    });
    task.write(".qwen/settings.json", settings);
    command.args(["--prompt", PROMPT, "--approval-mode", "yolo"]);
    command.env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", task.openai()).env("OPENAI_MODEL", "scripted");
    // Otherwise it starts itself again, and a signal reaches only the first of the two.
    command.env("QWEN_CODE_NO_RELAUNCH", "true");
}
