//! opencode, and Kilo, which is made of it.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use serde_json::json;

pub(super) const OPENCODE: Agent = Agent {
    name: "opencode",
    program: |installed| installed.native("opencode", "bin/opencode"),
    instruct: |command, task| {
        configure(task, "opencode.json");
        command.args(["run", PROMPT]).env("OPENCODE_DISABLE_MODELS_FETCH", "true");
    },
};

pub(super) const KILO: Agent = Agent {
    name: "Kilo",
    program: |installed| installed.native("@kilocode/cli", "bin/kilo"),
    instruct: |command, task| {
        configure(task, "kilo.json");
        command.args(["run", "--auto", PROMPT]).env("KILO_DISABLE_MODELS_FETCH", "true");
    },
};

fn configure(task: &Task<'_>, file: &str) {
    let server = match task.server {
        Access::Stdio(words) => json!({"type": "local", "command": words, "enabled": true}),
        Access::Http(url) => json!({"type": "remote", "url": url, "enabled": true, "oauth": false}),
    };
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": task.openai(), "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    });
    let config = json!({
        "model": "scripted/scripted", "provider": {"scripted": provider},
        "mcp": {SERVER: server}, "autoupdate": false, "share": "disabled",
    });
    task.write(file, config);
}
