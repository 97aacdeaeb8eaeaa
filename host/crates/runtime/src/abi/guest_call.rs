//! What is called in a component, and what it answered.

use crate::imports::{
    Completion, CompletionQuery, EffectInDoubt, EmbeddedResource, PromptResult, ReadError, ToolError, ToolResult,
    Verdict,
};
use std::sync::Arc;

/// A function of the guest API, with its arguments.
pub enum GuestCall {
    Tool {
        name: Arc<str>,
        arguments: String,
    },
    Resource {
        uri: String,
    },
    Prompt {
        name: String,
        arguments: Vec<(String, String)>,
    },
    Completion(CompletionQuery),
    /// The tool that was called, with its arguments, and what is in doubt.
    Reconcile {
        name: Arc<str>,
        arguments: String,
        effect: EffectInDoubt,
    },
}

/// The answer to the [`GuestCall`] of the same name.
pub enum GuestAnswer {
    Tool(Result<ToolResult, ToolError>),
    Resource(Result<Vec<EmbeddedResource>, ReadError>),
    Prompt(Result<PromptResult, ToolError>),
    Completion(Result<Completion, ToolError>),
    Reconcile(Verdict),
}
