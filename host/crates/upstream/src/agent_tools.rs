//! A server's tools as agent tools, named `<upstream>.<tool>`.

use crate::api::call::{CallSource, CallerScope, UpstreamCall};
use crate::api::links::Links;
use crate::calls::invoke::call_tool;
use crate::open_call::chain::chain_with;
use crate::server::Upstream;
use async_trait::async_trait;
use policy::{BudgetUsage, Origin};
use runtime::imports::{
    AgentError, AgentResult, AgentTool, ReverseCall, ReverseOutcome, Tool, ToolAnnotations, ToolCaller, ToolResult,
};
use runtime::journal::Repeat;
use serde_json::{Map, Value};

/// What is known of a call besides its answer.
#[derive(Default)]
struct CallRemarks {
    /// Whether the server, or the operator, said that it is private.
    private: bool,
    /// The cost of what the server made this host run for the call.
    spent: BudgetUsage,
    meta: Map<String, Value>,
}

/// Calls a server's tools for plugins and for clients of this host.
#[derive(Clone)]
pub struct UpstreamTools {
    upstream: Upstream,
    links: Links,
}

impl UpstreamTools {
    pub fn new(upstream: Upstream) -> Self {
        Self { upstream, links: Links::default() }
    }

    /// The same for clients of this host, which can read the links.
    pub(super) fn with_links(upstream: Upstream, links: Links) -> Self {
        Self { upstream, links }
    }

    /// The server's own name of a tool.
    fn local_name<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.upstream.name())?.strip_prefix('.')
    }
}

#[async_trait]
impl ToolCaller for UpstreamTools {
    fn tools(&self) -> Vec<AgentTool> {
        let server = self.upstream.name();
        let named = |tool: &Tool| AgentTool {
            tool: Tool { name: format!("{server}.{}", tool.name), ..tool.clone() },
            origin: Origin::Upstream(server.to_owned()),
        };
        self.upstream.tools().iter().map(|tool| named(&tool.tool)).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        let found = self.upstream.0.tool(self.local_name(name)?).ok()?;
        let mut tool = Tool { name: name.to_owned(), ..found.tool.clone() };
        // A server may change annotations at any time after somebody has read them, unless its definitions are pinned.
        if self.upstream.0.settings.definitions.is_none() {
            tool.annotations = ToolAnnotations::default();
        }
        Some(tool)
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        let Some(tool) = self.local_name(name) else { return Err(AgentError::UnknownTool(name.to_owned())) };
        self.upstream.0.connection()?;
        self.upstream.0.tool(tool)?;
        Ok(self.origin())
    }

    async fn wait_for_tool(&self, name: &str) {
        if self.local_name(name).is_some() {
            self.upstream.0.wait_until_connected().await;
        }
    }

    /// The annotations are those of a pinned definition, which the operator has read; otherwise there are none.
    fn again(&self, name: &str, _begun: Option<Repeat>) -> Repeat {
        let Some(Tool { annotations, .. }) = self.tool(name) else { return Repeat::Unsafe };
        match annotations.read_only == Some(true) || annotations.idempotent == Some(true) {
            true => Repeat::Safe,
            false => Repeat::Unsafe,
        }
    }

    async fn call(&self, reverse: ReverseCall) -> ReverseOutcome {
        let mut remarks = CallRemarks { private: self.upstream.0.settings.private, ..CallRemarks::default() };
        let answer = self.call_upstream(reverse, &mut remarks).await;
        let CallRemarks { private, spent, meta } = remarks;
        ReverseOutcome { answer, private: private.then(|| self.origin()), spent, meta }
    }
}

impl UpstreamTools {
    fn origin(&self) -> Origin {
        Origin::Upstream(self.upstream.name().to_owned())
    }

    async fn call_upstream(
        &self,
        mut reverse: ReverseCall,
        remarks: &mut CallRemarks,
    ) -> Result<AgentResult, AgentError> {
        reverse.lane.take("upstream");
        let Some(tool) = self.local_name(&reverse.name) else { return Err(AgentError::UnknownTool(reverse.name)) };
        let arguments = std::mem::take(&mut reverse.arguments).into_object();
        let mut arguments = arguments.map_err(AgentError::InvalidArguments)?;
        self.links.restore(self.upstream.name(), arguments.values_mut());
        let shared = &self.upstream.0;
        let mut call = UpstreamCall::new(tool, arguments).with_task(reverse.parent.clone());
        call.correlation = reverse.context.correlation_id.clone();
        call.traceparent = reverse.context.traceparent.clone();
        let caller_scope = CallerScope::new(&reverse, chain_with(self.upstream.name()), self.links.clone());
        let calling = call_tool(shared, call, CallSource::Caller(Box::new(caller_scope)));
        let Some((result, used)) = reverse.cancel.run_until_cancelled(calling).await else {
            return Err(AgentError::Cancelled);
        };
        remarks.spent = used;
        let mut result = result?;
        self.links.resolve(self.upstream.name(), &mut result.content);
        remarks.private |= result.private;
        remarks.meta = result.meta;
        let structured = result.structured.map(|value| value.to_string());
        if result.is_error {
            let result = ToolResult { content: result.content, structured, is_error: true };
            return Err(AgentError::ToolError(result));
        }
        Ok(AgentResult {
            content: result.content,
            structured,
            origin: self.origin(),
            // Only the agent's own approver edits arguments, never the server that runs the tool.
            edited: None,
        })
    }
}
