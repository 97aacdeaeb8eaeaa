//! What a guest answered, checked before anybody sees it, and what the call cost.

use super::plugin::{Plugin, PluginTool};
use platform::telemetry::printable;
use policy::{Access, LineageError, Spent};
use runtime::engine::{CallError, Cost};
use runtime::imports::wasi::RefusedPath;
use runtime::imports::{
    Abilities, AgentResult, Budgeted, CallCtx, Completion, Content, EmbeddedResource, Exhaustion, GuestDenial,
    PromptResult, ToolError, ToolResult,
};
use serde_json::Value;
use std::time::Duration;

/// Structured output, as text and parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// As the guest wrote it.
    pub text: String,
    /// Checked against the tool's output schema.
    pub value: Value,
}

/// A tool's answer, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// For model and user; never empty when there is structured output.
    pub content: Vec<Content>,
    /// For programs.
    pub structured: Option<Structured>,
    /// The tool reports a failure of its own.
    pub is_error: bool,
}

/// What a call used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// What its parent pays.
    pub spent: Spent,
    /// Wall-clock time.
    pub wall: Duration,
    /// Linear memory at its largest, bytes.
    pub peak_memory: u64,
    /// Chunks sent.
    pub chunks: u64,
    /// Bytes of chunks and result.
    pub output_bytes: u64,
    /// Reverse calls under it.
    pub calls: u32,
    /// Questions it put.
    pub questions: u32,
    /// Tokens of the host's own model.
    pub model_tokens: u64,
}

/// A finished call: of a tool, or of something else that a plugin offers.
pub struct Finished<A = Answer> {
    /// The answer, or why there is none.
    pub result: Result<A, CallError>,
    /// What it used, however it ended.
    pub usage: Usage,
    /// What it wanted to ask and could not, because the client did not say it can answer.
    pub lacked: Abilities,
    /// Likewise for tools that it wanted to call.
    pub lacked_tools: bool,
}

impl<A> Finished<A> {
    /// A call that never began.
    pub(super) fn not_begun(result: Result<A, CallError>) -> Self {
        Self { result, usage: Usage::default(), lacked: Abilities::default(), lacked_tools: false }
    }
}

/// An answer as the guest gave it, with all that is needed to judge it.
pub(super) struct Given<'a, R> {
    pub(super) plugin: &'a Plugin,
    /// What was called, for the log.
    pub(super) called: &'a str,
    pub(super) result: Result<R, CallError>,
    pub(super) cost: Cost,
    pub(super) call: Box<CallCtx>,
}

impl<R> Given<'_, R> {
    /// Puts a finished call together. `check` looks at the answer before anybody sees it.
    pub(super) fn finish<A>(
        self,
        check: impl FnOnce(&Plugin, &CallCtx, R, &mut Usage) -> Result<A, CallError>,
    ) -> Finished<A> {
        let Given { plugin, called, result, cost, call } = self;
        let mut usage = Usage {
            spent: cost.spent,
            wall: cost.wall,
            peak_memory: cost.peak_memory,
            chunks: call.output.chunks(),
            output_bytes: call.output.with_result(0).unwrap_or_else(|(used, _)| used),
            calls: call.agent_tools.calls(),
            questions: call.client.asked(),
            model_tokens: call.client.model_tokens(),
        };
        let result = result.and_then(|answer| check(plugin, &call, answer, &mut usage));
        if let Err(error) = &result {
            let (code, text) = (error.code(), error.to_string());
            let called = printable(called);
            tracing::warn!(plugin = %plugin.id(), tool = %called, call = call.context.id, code, "{}", printable(&text));
        }
        Finished { result, usage, lacked: call.client.lacked(), lacked_tools: call.agent_tools.lacked() }
    }
}

/// Counts the answer's bytes against the output limit.
pub(super) fn counted(call: &CallCtx, answer: &impl Measured, usage: &mut Usage) -> Result<(), CallError> {
    usage.output_bytes =
        call.output.with_result(answer.bytes()).map_err(|(used, limit)| CallError::OutputExceeded { limit, used })?;
    Ok(())
}

/// What a guest answered, by its size.
pub(super) trait Measured {
    /// Bytes of payload.
    fn bytes(&self) -> u64;
}

fn bytes(content: &[Content], structured: Option<&String>) -> u64 {
    content.iter().map(Content::size).sum::<u64>() + structured.map_or(0, |text| text.len() as u64)
}

impl Measured for ToolResult {
    fn bytes(&self) -> u64 {
        bytes(&self.content, self.structured.as_ref())
    }
}

impl Measured for AgentResult {
    fn bytes(&self) -> u64 {
        bytes(&self.content, self.structured.as_ref())
    }
}

impl Measured for Vec<EmbeddedResource> {
    fn bytes(&self) -> u64 {
        self.iter().map(EmbeddedResource::size).sum()
    }
}

impl Measured for PromptResult {
    fn bytes(&self) -> u64 {
        let description = self.description.as_ref().map_or(0, |text| text.len() as u64);
        description + self.messages.iter().map(|message| message.content.size()).sum::<u64>()
    }
}

impl Measured for Completion {
    fn bytes(&self) -> u64 {
        self.values.iter().map(|value| value.len() as u64).sum()
    }
}

impl<T: Measured, E> Measured for Result<T, E> {
    fn bytes(&self) -> u64 {
        self.as_ref().map_or(0, Measured::bytes)
    }
}

/// A tool's answer.
pub(super) fn tool_answer(
    tool: &PluginTool,
) -> impl FnOnce(&Plugin, &CallCtx, Result<ToolResult, ToolError>, &mut Usage) -> Result<Answer, CallError> {
    move |plugin, call, answer, usage| {
        let failed = |text| ToolResult { content: vec![Content::text(text)], structured: None, is_error: true };
        let result = answer.or_else(|error| own_error(plugin, call, error).map(failed))?;
        check(tool, call, result, usage)
    }
}

/// Checks what the guest answered before anybody sees it.
fn check(tool: &PluginTool, call: &CallCtx, mut result: ToolResult, usage: &mut Usage) -> Result<Answer, CallError> {
    let invalid = |reason: String| CallError::InvalidOutput { reason };
    counted(call, &result, usage)?;
    for piece in &result.content {
        piece.check().map_err(invalid)?;
    }
    let structured = match result.structured {
        None => None,
        Some(text) => {
            let value = serde_json::from_str::<Value>(&text)
                .map_err(|e| invalid(format!("its structured content is not JSON: {e}")))?;
            Some(Structured { text, value })
        }
    };
    match (&tool.output, &structured) {
        (Some(schema), Some(structured)) if !result.is_error => {
            schema
                .check(&structured.value)
                .map_err(|e| invalid(format!("it does not match the tool's output schema: {e}")))?;
        }
        (Some(_), None) if !result.is_error => {
            return Err(invalid("the tool has an output schema but gave no structured content".into()));
        }
        _ => {}
    }
    // Clients that do not know structured content read the text.
    if let (Some(structured), true) = (&structured, result.content.is_empty()) {
        result.content.push(Content::text(structured.text.clone()));
    }
    Ok(Answer { content: result.content, structured, is_error: result.is_error })
}

/// The guest's own error: in its words where it is the guest's to tell, as a typed error where the host has a say.
pub(super) fn own_error(plugin: &Plugin, call: &CallCtx, error: ToolError) -> Result<String, CallError> {
    let failed = Ok::<String, CallError>;
    match error {
        ToolError::InvalidArguments(reason) => Err(CallError::InvalidArguments { reason }),
        ToolError::Cancelled => Err(CallError::Cancelled),
        ToolError::Unsupported(what) => Err(CallError::Unsupported { what }),
        // There are ceilings on other calls too, such as those of a model.
        ToolError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit })
            if u64::from(call.agent_tools.calls()) >= limit =>
        {
            Err(lineage(LineageError::Calls, limit))
        }
        ToolError::Exhausted(Exhaustion { budget: Budgeted::Depth, limit }) => Err(lineage(LineageError::Depth, limit)),
        ToolError::Exhausted(Exhaustion { budget, limit }) => {
            failed(format!("the plugin ran out of {}: the limit is {limit}", budget.name()))
        }
        ToolError::Denied(denial) => match reworded(plugin, call, &denial) {
            Some(error) => Err(error),
            // The guest speaks of a grant that does not exist, or of one it has.
            None => failed(format!("denied: {} `{}`", printable(&denial.capability), printable(&denial.target))),
        },
        ToolError::Failed(text) => {
            let path = |refused: &RefusedPath| plugin.authority.path_refused(&refused.path, refused.access);
            // The guest says it failed, and had been refused a path or a request: say which and how to allow it.
            match call.refused_path.as_ref().map(path).or_else(|| call.http.refused()) {
                Some(denial) => failed(format!("{text}\n({denial})")),
                None => failed(text),
            }
        }
    }
}

fn lineage(kind: fn(u32) -> LineageError, limit: u64) -> CallError {
    CallError::Lineage(kind(u32::try_from(limit).unwrap_or(u32::MAX)))
}

/// A denial in the host's words. The guest only says what it was refused; how to allow it is the host's to say, or a
/// guest could have an operator paste what it likes.
fn reworded(plugin: &Plugin, call: &CallCtx, denial: &GuestDenial) -> Option<CallError> {
    // It stands in a sentence of the host's.
    let target = printable(&denial.target);
    match denial.capability.as_str() {
        "filesystem" => {
            let access = call.refused_path.as_ref().map_or(Access::Read, |refused| refused.access);
            Some(CallError::Denied(plugin.authority.path_refused(&target, access)))
        }
        "agent-tools" => plugin.authority.agent_tool(&target).err().map(CallError::Denied),
        "client.form" => plugin.authority.form().err().map(CallError::Denied),
        "client.url" => plugin.authority.url(&target).err().map(CallError::Denied),
        "client.sample" => plugin.authority.sample().err().map(CallError::Denied),
        "client.roots" => plugin.authority.roots().err().map(CallError::Denied),
        "publish" => plugin.authority.publish().err().map(CallError::Denied),
        "events" => plugin.authority.event(&target).err().map(CallError::Denied),
        "connections" => plugin.authority.connection(&target).err().map(CallError::Denied),
        // Which hop of a redirect, or which secret, only the host knows.
        "http" | "secrets" => call.http.refused().map(CallError::Denied),
        "state" => plugin.authority.state().err().map(CallError::Denied),
        _ => None,
    }
}
