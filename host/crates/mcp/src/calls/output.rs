//! What a call returns to its client.

use crate::client::chunk_record::ChunkRecord;
use protocol::names::STREAM_META;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, GetPromptResult, ReadResourceResult};

/// The result of a request that may take several rounds.
pub(crate) enum CallResult {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    /// None if there is no such resource.
    Resource(Option<ReadResourceResult>),
}

/// A result, and its size in bytes as it counts against the output limit.
pub(crate) struct CallOutput {
    pub(crate) result: CallResult,
    pub(crate) bytes: u64,
}

pub(crate) type CallOutcome = Result<CallOutput, ErrorData>;

impl CallOutput {
    /// Adds the summary of the chunks, which is complete only after the last of them was sent.
    pub(crate) fn with_chunk_summary(mut self, record: &ChunkRecord) -> Self {
        if let (CallResult::Tool(result), Some(summary)) = (&mut self.result, record.summary()) {
            result.meta.get_or_insert_default().insert(STREAM_META.to_owned(), summary);
        }
        self
    }
}
