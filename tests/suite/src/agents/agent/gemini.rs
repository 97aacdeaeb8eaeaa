//! Google's.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use serde_json::json;
use std::process::Command;

pub(super) const AGENT: Agent = Agent {
    name: "Gemini CLI",
    program: |installed| installed.script("@google/gemini-cli", "bundle/gemini.js"),
    instruct,
};

fn instruct(command: &mut Command, task: &Task<'_>) {
    let mut server = match task.server {
        Access::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
        Access::Http(url) => json!({"httpUrl": url}),
    };
    server["trust"] = true.into();
    let settings = json!({
        "mcpServers": {SERVER: server},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    });
    task.write(".gemini/settings.json", settings);
    command.args(["--prompt", PROMPT, "--approval-mode", "yolo", "--skip-trust"]);
    command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", task.model.url(""));
    // Otherwise it starts itself again, and a signal reaches only the first of the two.
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
}
