//! Items of the transcript.

use serde::Deserialize;

/// What the agent's model sees of a server's chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkPolicy {
    /// Nothing. The default, since the result repeats or supersedes the chunks.
    #[default]
    UiOnly,
    /// One item at the end of the call: the number and size of the chunks, the first and the last.
    Digest,
    /// Each chunk at the next step, so that the model can steer or cancel while the call still runs.
    Inject,
}

/// One item for the agent's model. Text from servers is untrusted.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptItem {
    /// Text from the user.
    User(String),
    /// A call has started.
    Call {
        call: u64,
        /// `server.tool`.
        tool: String,
        /// JSON text.
        arguments: String,
    },
    /// Chunks of a running call since the last step.
    Chunks {
        call: u64,
        /// Numbers of the first and the last chunk.
        chunks: (u64, u64),
        text: String,
    },
    /// A summary of all chunks of a call.
    Digest { call: u64, text: String },
    /// A call has ended.
    Result { call: u64, text: String, is_error: bool },
}
