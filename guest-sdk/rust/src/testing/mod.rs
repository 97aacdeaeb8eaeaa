//! Runs tools natively, against a fake host.
//!
//! ```
//! # #[portcullis_guest::plugin(name = "demo", description = "Demo.")]
//! # mod demo {
//! #     use portcullis_guest::output::{self, OutputError};
//! #     /// Says hello.
//! #     #[tool]
//! #     fn greet(name: String) -> Result<String, OutputError> {
//! #         output::emit("thinking")?;
//! #         Ok(format!("Hello, {name}!"))
//! #     }
//! # }
//! use portcullis_guest::testing::Host;
//! use serde_json::json;
//!
//! let host = Host::new();
//! let result = host.call(&demo::PLUGIN, "greet", json!({ "name": "Ada" })).unwrap();
//! assert_eq!(result.all_text(), "Hello, Ada!");
//! assert_eq!(host.chunk_texts(), ["thinking"]);
//! ```

pub(crate) mod agent_tools;
pub(crate) mod checkpoint;
pub(crate) mod client;
pub(crate) mod connections;
mod host;
pub(crate) mod http;
mod offers;
pub(crate) mod published;
mod scripted;
pub(crate) mod state;
pub(crate) mod values;

use serde_json::Value;

use crate::reconcile::{Doubt, Effect, Verdict};
use crate::{Context, Plugin, Tool, ToolError, ToolResult};

pub use host::Host;
pub use offers::{complete_prompt, complete_template, prompt, prompt_in, read, read_in};
pub use state::agent_tools::AgentCall;
pub use state::client::{Asked, AskedQuestion, SampleRequest};
pub use state::connections::Sent;
pub use state::http::SentHttp;
pub use state::published::{Attributes, Event, PublishedMessage, PublishedPrompt, PublishedResource};
pub use state::{LogRecord, Progress};

/// Calls a tool as the host would, with the thread's current fake host.
///
/// # Errors
/// The tool's own error, arguments that do not fit, and results that a host would refuse.
pub fn call(plugin: &Plugin, tool: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    call_in(&context(), plugin, tool, arguments)
}

/// As [`call`], with the given context.
///
/// # Errors
/// As [`call`].
#[allow(clippy::needless_pass_by_value, reason = "tests write json!(...) in place")]
pub fn call_in(ctx: &Context, plugin: &Plugin, tool: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    if !arguments.is_object() {
        return Err(ToolError::invalid("arguments are a JSON object"));
    }
    state::with(|state| state.checkpoints.begin());
    let result = plugin.call_tool(ctx, tool, &arguments.to_string())?;
    let described = self::tool(plugin, tool);
    match (&result.structured, described.output_schema) {
        (Some(json), _) if !serde_json::from_str::<Value>(json).is_ok_and(|value| value.is_object()) => {
            Err(ToolError::failed("invalid output: structured content is not a JSON object"))
        }
        (None, Some(_)) if !result.is_error => {
            Err(ToolError::failed("invalid output: the tool has an output schema and returned no structured content"))
        }
        _ => Ok(result),
    }
}

/// Asks a plugin what has become of an effect of a call of this tool.
#[allow(clippy::needless_pass_by_value, reason = "tests write json!(...) in place")]
pub fn reconcile(plugin: &Plugin, tool: &str, arguments: Value, effect: &Effect) -> Verdict {
    let name = match effect {
        Effect::Http(_) => "http.handle",
        Effect::AgentTool(_) => "agent-tools.call",
        Effect::Other => "connections.send",
    };
    plugin.reconcile(&Doubt::new(&context(), (tool, &arguments.to_string()), ("1", name), effect))
}

/// The description of one tool.
///
/// # Panics
/// When the plugin has no such tool.
pub fn tool(plugin: &Plugin, name: &str) -> Tool {
    let tools = plugin.list_tools();
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    let found = tools.into_iter().find(|tool| tool.name == name);
    found.unwrap_or_else(|| panic!("no tool named `{name}`; there are {}", names.join(", ")))
}

/// The context of a local call with 30 s left.
pub fn context() -> Context {
    Context {
        id: "test-call".into(),
        principal: "local".into(),
        correlation_id: None,
        idempotency_key: None,
        deadline_ms: 30_000,
        traceparent: None,
        replaying: false,
    }
}
