//! The answer of a call, and what the call used.

use crate::calls::slots::clean_up::CleanUp;
use policy::{BudgetUsage, Denial};
use runtime::engine::CallError;
use runtime::imports::{Abilities, Completion, Content, EmbeddedResource, PromptResult, SandboxUses};
use serde_json::{Map, Value};
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
    /// The `_meta` of another server's answer, without keys of the host's namespace.
    pub meta: Map<String, Value>,
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
    /// Accesses that were refused, in the log and in the audit.
    pub denials: u64,
}

/// None when there is no such resource.
pub type ResourceContents = Option<Vec<EmbeddedResource>>;

/// A checked answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAnswer {
    Tool(Answer),
    Resource(ResourceContents),
    Prompt(PromptResult),
    Completion(Completion),
}

/// A finished call.
pub struct FinishedCall<A = CallAnswer> {
    pub result: Result<A, CallError>,
    /// Whether the call reached its tool, which may then have had effects. False if the host refused the call before that.
    pub has_begun: bool,
    pub usage: CallUsage,
    /// The same for an answer of another server that is not a tool's.
    pub meta: Map<String, Value>,
    /// Client abilities that the call needed and the client did not declare.
    pub missing_abilities: Abilities,
    /// Whether it needed to call tools of a client that declared none.
    pub missing_tools: bool,
    /// The file accesses that the tool was refused. It may have taken a refusal for an empty folder and not have reported it.
    pub refused_files: Vec<Denial>,
    /// What it used of its sandbox.
    pub uses: SandboxUses,
    /// What is left to do after the answer is sent.
    pub clean_up: Option<CleanUp>,
}

impl<A> FinishedCall<A> {
    pub(in crate::calls) fn new(result: Result<A, CallError>, usage: CallUsage) -> Self {
        let (meta, missing_abilities, refused_files, uses) = Default::default();
        Self {
            result,
            has_begun: true,
            usage,
            meta,
            missing_abilities,
            missing_tools: false,
            refused_files,
            uses,
            clean_up: None,
        }
    }

    pub fn not_started(result: Result<A, CallError>) -> Self {
        Self { has_begun: false, ..Self::new(result, CallUsage::default()) }
    }
}

impl FinishedCall {
    /// The call of a tool.
    pub(in crate::calls) fn into_tool_call(self) -> FinishedCall<Answer> {
        let Self { result, has_begun, usage, meta, missing_abilities, missing_tools, refused_files, uses, clean_up } =
            self;
        let result = result.and_then(|answer| match answer {
            CallAnswer::Tool(answer) => Ok(answer),
            // The call of a tool is never answered with anything else.
            CallAnswer::Resource(_) | CallAnswer::Prompt(_) | CallAnswer::Completion(_) => Err(CallError::Internal),
        });
        FinishedCall { result, has_begun, usage, meta, missing_abilities, missing_tools, refused_files, uses, clean_up }
    }
}
