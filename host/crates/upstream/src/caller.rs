//! A server's tools as agent tools, named `<upstream>.<tool>`.

use super::call::{self, Call, Source, Under};
use crate::CHAIN;
use crate::Upstream;
use async_trait::async_trait;
use policy::{Origin, Spent};
use runtime::imports::{AgentError, AgentResult, AgentTool, ReverseCall, Tool, ToolCaller, ToolResult};
use serde_json::Value;

/// Reaches a server's tools for plugins, and for clients of this host.
#[derive(Clone)]
pub struct UpstreamTools(Upstream);

impl UpstreamTools {
    /// Of this server.
    pub fn new(upstream: Upstream) -> Self {
        Self(upstream)
    }

    fn bare<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.0.name())?.strip_prefix('.')
    }
}

#[async_trait]
impl ToolCaller for UpstreamTools {
    fn tools(&self) -> Vec<AgentTool> {
        let server = self.0.name();
        let named = |tool: &Tool| AgentTool {
            tool: Tool { name: format!("{server}.{}", tool.name), ..tool.clone() },
            origin: Origin::Upstream(server.to_owned()),
        };
        self.0.tools().iter().map(|tool| named(&tool.tool)).collect()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        let Some(bare) = self.bare(name) else { return Err(AgentError::UnknownTool(name.to_owned())) };
        self.0.0.link()?;
        self.0.0.tool(bare)?;
        Ok(Origin::Upstream(self.0.name().to_owned()))
    }

    async fn call(&self, reverse: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        (self.called(reverse).await, Spent::default())
    }
}

impl UpstreamTools {
    async fn called(&self, reverse: ReverseCall) -> Result<AgentResult, AgentError> {
        reverse.lane.take("upstream");
        let Some(bare) = self.bare(&reverse.name) else { return Err(AgentError::UnknownTool(reverse.name)) };
        let arguments = match serde_json::from_str(&reverse.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err(AgentError::InvalidArguments("they are no JSON object".into())),
            Err(error) => return Err(AgentError::InvalidArguments(format!("they are not JSON: {error}"))),
        };
        let shared = &self.0.0;
        let left = reverse.budget.deadline.saturating_duration_since(shared.clock.now());
        let mut call = Call::new(bare, arguments).of_task(reverse.parent.clone());
        call.correlation = reverse.context.correlation_id.clone();
        call.traceparent = reverse.context.traceparent.clone();
        call.timeout = Some(shared.settings.patience().min(left));
        let chain = CHAIN.try_with(|(server, chain)| (server == self.0.name()).then(|| chain.clone())).ok().flatten();
        let under = Under::of(&reverse, chain);
        let calling = call::make(shared, call, Source::Under(Box::new(under)));
        let Some(called) = reverse.cancel.run_until_cancelled(calling).await else { return Err(AgentError::Cancelled) };
        let called = called?;
        let structured = called.structured.map(|value| value.to_string());
        if called.is_error {
            let result = ToolResult { content: called.content, structured, is_error: true };
            return Err(AgentError::ToolError(result));
        }
        Ok(AgentResult {
            content: called.content,
            structured,
            origin: Origin::Upstream(self.0.name().to_owned()),
            private: called.private,
            edited: called.edited.map(|edited| edited.to_string()),
        })
    }
}
