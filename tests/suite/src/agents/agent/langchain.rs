//! The agents of two frameworks over LangChain, each in a script of some lines.

use super::definition::Agent;
use super::task::{PROMPT, SERVER, Task};
use crate::journey::Access;
use crate::paths;
use serde_json::json;
use std::process::Command;

pub(super) const LANGGRAPH: Agent = Agent {
    name: "LangGraph",
    program: |installed| {
        let mut python = installed.python("langchain", "python")?;
        python.arg("-B").arg(paths::client_script("agents/python/langgraph_agent.py"));
        Some(python)
    },
    instruct: |command, task| {
        let server = match task.server {
            Access::Stdio(words) => json!({"transport": "stdio", "command": words[0], "args": words[1..]}),
            Access::Http(url) => json!({"transport": "streamable_http", "url": url}),
        };
        tell(command, task, server);
    },
};

pub(super) const MCP_USE: Agent = Agent {
    name: "mcp-use",
    program: |installed| {
        let mut python = installed.python("langchain", "python")?;
        python.arg("-B").arg(paths::client_script("agents/python/mcp_use_agent.py"));
        Some(python)
    },
    instruct: |command, task| {
        let server = match task.server {
            Access::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
            Access::Http(url) => json!({"url": url}),
        };
        tell(command, task, server);
        command.env("MCP_USE_ANONYMIZED_TELEMETRY", "false");
    },
};

fn tell(command: &mut Command, task: &Task<'_>, server: serde_json::Value) {
    let told = json!({"name": SERVER, "server": server, "model": task.openai(), "prompt": PROMPT});
    command.arg(task.write("task.json", told));
}
