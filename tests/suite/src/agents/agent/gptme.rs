//! The agent of this name, in Python.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use std::process::Command;

pub(super) const AGENT: Agent =
    Agent { name: "gptme", program: |installed| installed.python("gptme", "gptme"), instruct };

fn instruct(command: &mut Command, task: &Task<'_>) {
    let server = match task.server {
        Access::Stdio(words) => format!("command = {:?}\nargs = {:?}", words[0], &words[1..]),
        Access::Http(url) => format!("url = {url:?}"),
    };
    let config = format!(
        "[env]\nMODEL = \"local/scripted\"\nOPENAI_BASE_URL = {:?}\nOPENAI_API_KEY = \"none\"\n[mcp]\nenabled = true\nauto_start = true\n[[mcp.servers]]\nname = \"{SERVER}\"\n{server}\n",
        task.openai()
    );
    task.write(".config/gptme/config.toml", config);
    command.args(["--non-interactive", "--tool-format", "tool", PROMPT]);
}
