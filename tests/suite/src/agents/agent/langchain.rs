//! The agents of two frameworks over LangChain, each in a script of some lines.

use super::definition::Agent;
use super::installed::Installed;
use super::task::{PROMPT, SERVER, Task};
use crate::paths;
use serde_json::{Value, json};
use std::process::Command;

pub(super) const LANGGRAPH: Agent = Agent {
    name: "LangGraph",
    program: |installed| script(installed, "langgraph_agent.py"),
    instruct: |command, task| {
        instruct(command, task, json!({"transport": "stdio"}), json!({"transport": "streamable_http"}))
    },
};

pub(super) const MCP_USE: Agent = Agent {
    name: "mcp-use",
    program: |installed| script(installed, "mcp_use_agent.py"),
    instruct: |command, task| {
        instruct(command, task, json!({}), json!({}));
        command.env("MCP_USE_ANONYMIZED_TELEMETRY", "false");
    },
};

fn script(installed: &Installed, name: &str) -> Option<Command> {
    let mut python = installed.python("langchain", "python")?;
    // -B writes no bytecode beside the sources.
    python.arg("-B").arg(paths::client_script(&format!("agents/python/{name}")));
    Some(python)
}

fn instruct(command: &mut Command, task: &Task<'_>, started: Value, reached: Value) {
    let server = task.server(started, reached, "url");
    let told = json!({"name": SERVER, "server": server, "model": task.openai(), "prompt": PROMPT});
    command.arg(task.write("task.json", told));
}
