//! OpenAI's.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use std::process::Command;

pub(super) const AGENT: Agent = Agent {
    name: "Codex",
    program: |installed| {
        installed.native("@openai/codex", &format!("vendor/{}-unknown-linux-musl/bin/codex", std::env::consts::ARCH))
    },
    instruct,
};

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server_in_toml();
    let provider = format!("name = \"scripted\"\nbase_url = {:?}\nwire_api = \"responses\"", task.openai());
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n{provider}\n[mcp_servers.{SERVER}]\n{server}\n"
    );
    task.write(".codex/config.toml", config);
    command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]);
    command.env("CODEX_HOME", task.home.join(".codex"));
}
