//! The agent's tools that a server may call, and their declaration to the server.

use policy::{Limits, ToolPattern};
use runtime::imports::{AgentTool, Tool, ToolCaller};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Tools in one declaration, and its size in bytes. Both limits are the extension's.
const MAX_TOOLS: usize = 128;
const MAX_DECLARATION: usize = 256 << 10;
/// Arguments of one call, in bytes. Bounds the input that a server gives an agent's tool.
pub(crate) const MAX_ARGUMENTS: usize = 64 << 10;

/// The agent's tools that a server may call.
#[derive(Clone)]
pub struct ToolOffer {
    /// Runs the tools.
    pub agent: Arc<dyn ToolCaller>,
    pub allow: Vec<ToolPattern>,
    /// Limits of all reverse calls of one open call together.
    pub limits: Limits,
}

impl ToolOffer {
    /// Offers no tools.
    pub fn none() -> Self {
        Self { agent: Arc::new(plugins::calls::NoTools), allow: Vec::new(), limits: Limits::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }

    fn allows(&self, name: &str) -> bool {
        self.allow.iter().any(|pattern| pattern.covers(name))
    }

    /// The tools of `agent` that the server may call now, without the server's own tools.
    pub(crate) fn tools(&self, agent: &dyn ToolCaller, server: &str) -> Vec<AgentTool> {
        let own = format!("{server}.");
        let fits = |found: &AgentTool| self.allows(&found.tool.name) && !found.tool.name.starts_with(&own);
        agent.tools().into_iter().filter(fits).take(MAX_TOOLS).collect()
    }

    /// The extension's settings for requests about a task, for which the server may call tools; none when no tool is offered.
    pub(crate) fn declaration_for_tasks(&self) -> Option<Map<String, Value>> {
        match json!({ "allowServerCalls": true, "lanes": ["retry"] }) {
            Value::Object(declared) if !self.is_empty() => Some(declared),
            _ => None,
        }
    }

    /// The extension's settings for the server; none when no tool is offered.
    pub(crate) fn declaration(
        &self,
        server: &str,
        lanes: &[&str],
        channel: Option<&str>,
    ) -> Option<Map<String, Value>> {
        let (mut tools, mut size) = (Vec::new(), 0);
        for found in self.tools(&*self.agent, server) {
            let tool = to_json(&found.tool);
            size += tool.to_string().len();
            if size > MAX_DECLARATION - 4_096 {
                tracing::warn!(server, "too many tools are offered to the server; some are left out");
                break;
            }
            tools.push(tool);
        }
        if tools.is_empty() {
            return None;
        }
        let Limits { calls, parallel, .. } = self.limits;
        let limits = json!({ "calls": calls, "parallel": parallel, "argumentBytes": MAX_ARGUMENTS });
        let mut declared = json!({ "allowServerCalls": true, "tools": tools, "lanes": lanes, "limits": limits });
        if let Some(channel) = channel {
            declared["channel"] = channel.into();
        }
        match declared {
            Value::Object(declared) => Some(declared),
            _ => None,
        }
    }
}

/// A tool in the protocol's format.
fn to_json(tool: &Tool) -> Value {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({ "type": "object" }));
    let mut json = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema(&tool.input_schema),
    });
    if let Some(title) = &tool.title {
        json["title"] = title.as_str().into();
    }
    if let Some(output) = &tool.output_schema {
        json["outputSchema"] = schema(output);
    }
    let hints = &tool.annotations;
    let hints = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    let hints: Map<String, Value> =
        hints.into_iter().filter_map(|(key, hint)| Some((key.into(), hint?.into()))).collect();
    if !hints.is_empty() {
        json["annotations"] = hints.into();
    }
    json
}
