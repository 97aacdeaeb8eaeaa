//! The agents: a file for each, which says where its program is, and how it is told of its model, of the server, and of what to do.

mod claude_code;
mod cline;
mod codex;
mod continue_cli;
mod copilot;
mod definition;
mod fast_agent;
mod gemini;
mod gptme;
mod installed;
mod kimi;
mod langchain;
mod opencode;
mod openhands;
mod task;

pub use definition::Agent;
pub(super) use task::Task;

impl Agent {
    /// The one that the tests use.
    pub const GEMINI_CLI: &'static Self = &gemini::GEMINI_CLI;
    /// All of them.
    pub const ALL: [&'static Self; 15] = [
        &claude_code::AGENT,
        &cline::AGENT,
        &codex::AGENT,
        &continue_cli::AGENT,
        &copilot::AGENT,
        Self::GEMINI_CLI,
        &gptme::AGENT,
        &opencode::KILO,
        &kimi::AGENT,
        &langchain::LANGGRAPH,
        &langchain::MCP_USE,
        &opencode::OPENCODE,
        &openhands::AGENT,
        &gemini::QWEN_CODE,
        &fast_agent::AGENT,
    ];
}
