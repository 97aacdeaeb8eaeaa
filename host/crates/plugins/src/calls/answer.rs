//! The answer of a call, and what the call used.

use crate::catalog::Plugin;
use platform::telemetry::printable;
use policy::BudgetUsage;
use runtime::engine::{CallCost, CallError};
use runtime::imports::{Abilities, CallImports, Content};
use serde_json::Value;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct StructuredContent {
    /// As the guest wrote it.
    pub text: String,
    pub value: Value,
}

/// A checked answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Never empty when there is structured content.
    pub content: Vec<Content>,
    pub structured: Option<StructuredContent>,
    /// Whether the tool reports an error of its own.
    pub is_error: bool,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CallUsage {
    /// What counts against its caller's budget.
    pub spent: BudgetUsage,
    pub wall: Duration,
    /// Bytes of linear memory at its largest.
    pub peak_memory: u64,
    pub chunks: u64,
    /// Bytes of chunks and result.
    pub output_bytes: u64,
    /// Reverse calls, those of nested calls included.
    pub calls: u32,
    pub questions: u32,
    /// Tokens of the host's own model.
    pub model_tokens: u64,
}

/// A finished call of a tool or of another export of a plugin.
pub struct FinishedCall<A = Answer> {
    pub result: Result<A, CallError>,
    pub usage: CallUsage,
    /// Client abilities that the call needed and the client did not declare.
    pub missing_abilities: Abilities,
    /// Whether it needed to call tools of a client that declared none.
    pub missing_tools: bool,
}

impl<A> FinishedCall<A> {
    pub(super) fn not_started(result: Result<A, CallError>) -> Self {
        Self { result, usage: CallUsage::default(), missing_abilities: Abilities::default(), missing_tools: false }
    }
}

/// An unchecked answer of a guest.
pub(super) struct GuestAnswer<'a, R> {
    pub(super) plugin: &'a Plugin,
    /// What was called, for the log.
    pub(super) target: &'a str,
    pub(super) result: Result<R, CallError>,
    pub(super) cost: CallCost,
    pub(super) imports: Box<CallImports>,
}

impl<R> GuestAnswer<'_, R> {
    /// Checks the answer with `check`, and adds what the call used.
    pub(super) fn check<A>(
        self,
        check: impl FnOnce(&Plugin, &CallImports, R, &mut CallUsage) -> Result<A, CallError>,
    ) -> FinishedCall<A> {
        let GuestAnswer { plugin, target, result, cost, imports } = self;
        let mut usage = CallUsage {
            spent: cost.spent,
            wall: cost.wall,
            peak_memory: cost.peak_memory,
            chunks: imports.output.chunks(),
            output_bytes: imports.output.bytes_with_result(0).unwrap_or_else(|(used, _)| used),
            calls: imports.agent_tools.calls(),
            questions: imports.client.questions_asked(),
            model_tokens: imports.client.model_tokens(),
        };
        let result = result.and_then(|answer| check(plugin, &imports, answer, &mut usage));
        if let Err(error) = &result {
            let (code, text) = (error.code(), error.to_string());
            let tool = printable(target);
            tracing::warn!(plugin = %plugin.id(), %tool, call = imports.context.id, code, "{}", printable(&text));
        }
        FinishedCall {
            result,
            usage,
            missing_abilities: imports.client.lacked(),
            missing_tools: imports.agent_tools.lacked(),
        }
    }
}
