//! The agent of this name, in Python.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "gptme", program: |installed| installed.python("gptme", "gptme"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = task.server_in_toml();
    let config = format!(
        "[env]\nMODEL = \"local/scripted\"\nOPENAI_BASE_URL = {:?}\nOPENAI_API_KEY = \"none\"\n[mcp]\nenabled = true\nauto_start = true\n[[mcp.servers]]\nname = \"{SERVER}\"\n{server}\n",
        task.openai()
    );
    task.write(".config/gptme/config.toml", config);
    command.args(["--non-interactive", "--tool-format", "tool", PROMPT]);
    // Otherwise it waits for a server with tables of tokens each time it counts some.
    command.env("GPTME_TIKTOKEN_TIMEOUT", "0");
}
