//! Google's, and Qwen Code, which is made of it.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use serde_json::json;

pub(super) const GEMINI_CLI: Agent = Agent {
    name: "Gemini CLI",
    program: |installed| installed.script("@google/gemini-cli", "bundle/gemini.js"),
    instruct: |command, task| {
        configure(task, ".gemini", "gemini-api-key");
        command.args(["--prompt", PROMPT, "--approval-mode", "yolo", "--skip-trust"]);
        command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", task.model.url(""));
        // Otherwise it starts itself again, and a signal reaches only the first of the two.
        command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    },
};

pub(super) const QWEN_CODE: Agent = Agent {
    name: "Qwen Code",
    program: |installed| installed.script("@qwen-code/qwen-code", "cli.js"),
    instruct: |command, task| {
        configure(task, ".qwen", "openai");
        command.args(["--prompt", PROMPT, "--approval-mode", "yolo"]);
        command.env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", task.openai()).env("OPENAI_MODEL", "scripted");
        // As above.
        command.env("QWEN_CODE_NO_RELAUNCH", "true");
    },
};

fn configure(task: &Task<'_>, folder: &str, account: &str) {
    let server = task.server(json!({"trust": true}), json!({"trust": true}), "httpUrl");
    let settings = json!({
        "mcpServers": {SERVER: server},
        "security": {"auth": {"selectedType": account}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        // Otherwise a model of Qwen Code must search for tools before it sees them.
        "tools": {"toolSearch": {"enabled": false}},
    });
    task.write(&format!("{folder}/settings.json"), settings);
}
