//! Sizes of answers, counted against the output limit.

use crate::calls::answers::answer::CallUsage;
use crate::catalog::ServerAnswer;
use runtime::abi::GuestAnswer;
use runtime::engine::CallError;
use runtime::imports::{AgentResult, CallImports, Completion, Content, EmbeddedResource, PromptResult, ToolResult};

/// The size of what a guest answered.
pub(in crate::calls) trait PayloadSize {
    fn payload_bytes(&self) -> u64;
}

fn result_bytes(content: &[Content], structured: Option<&String>) -> u64 {
    content.iter().map(Content::size).sum::<u64>() + structured.map_or(0, |text| text.len() as u64)
}

impl PayloadSize for ToolResult {
    fn payload_bytes(&self) -> u64 {
        result_bytes(&self.content, self.structured.as_ref())
    }
}

impl PayloadSize for AgentResult {
    fn payload_bytes(&self) -> u64 {
        result_bytes(&self.content, self.structured.as_ref())
    }
}

impl PayloadSize for Vec<EmbeddedResource> {
    fn payload_bytes(&self) -> u64 {
        self.iter().map(EmbeddedResource::size).sum()
    }
}

impl PayloadSize for PromptResult {
    fn payload_bytes(&self) -> u64 {
        let description = self.description.as_ref().map_or(0, |text| text.len() as u64);
        description + self.messages.iter().map(|message| message.content.size()).sum::<u64>()
    }
}

impl PayloadSize for Completion {
    fn payload_bytes(&self) -> u64 {
        self.values.iter().map(|value| value.len() as u64).sum()
    }
}

impl PayloadSize for GuestAnswer {
    fn payload_bytes(&self) -> u64 {
        match self {
            Self::Tool(answer) => answer.payload_bytes(),
            Self::Resource(answer) => answer.payload_bytes(),
            Self::Prompt(answer) => answer.payload_bytes(),
            Self::Completion(answer) => answer.payload_bytes(),
            Self::Reconcile(_) => 0,
        }
    }
}

impl PayloadSize for ServerAnswer {
    fn payload_bytes(&self) -> u64 {
        match self {
            Self::Resource(contents) => contents.iter().map(PayloadSize::payload_bytes).sum(),
            Self::Prompt(prompt) => prompt.payload_bytes(),
            Self::Completion(completion) => completion.payload_bytes(),
        }
    }
}

impl<T: PayloadSize, E> PayloadSize for Result<T, E> {
    fn payload_bytes(&self) -> u64 {
        self.as_ref().map_or(0, PayloadSize::payload_bytes)
    }
}

/// Counts the answer's bytes against the output limit.
pub(in crate::calls) fn count_output(
    imports: &CallImports,
    answer: &impl PayloadSize,
    usage: &mut CallUsage,
) -> Result<(), CallError> {
    usage.output_bytes = imports
        .bytes_with_result(answer.payload_bytes())
        .map_err(|(used, limit)| CallError::OutputExceeded { limit, used })?;
    Ok(())
}
