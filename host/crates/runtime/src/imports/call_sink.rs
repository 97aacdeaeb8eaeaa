//! Where the chunks, progress reports and log messages of a running call go.

use super::log::LogLevel;
use super::types::{Content, Exhaustion};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// One chunk of a call's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub content: Vec<Content>,
    /// The called tools that it came through, outermost first; empty for the call's own chunks.
    pub origin: Vec<String>,
}

/// Receives the output of a running call.
#[async_trait]
pub trait CallSink: Send + Sync {
    /// Waits while the reader is behind, which applies back-pressure to the guest. When dropped while waiting, nothing
    /// was taken.
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError>;
    /// A chunk that an earlier run of the call has sent. It is not sent again.
    fn replayed_chunk(&self, _seq: u64, _chunk: Chunk) {}
    /// Waits until the reader has taken all chunks that were sent before.
    async fn flush(&self) {}
    /// What this sink has counted, for [`Self::catch_up`] of a later run.
    fn counted(&self) -> Option<Vec<u8>> {
        None
    }
    /// This run begins after a checkpoint. Earlier runs have sent these chunks, and this run does not send them again.
    fn catch_up(&self, _earlier: EarlierChunks) {}
    /// May drop the report; never waits.
    fn progress(&self, report: ProgressReport);
    /// May drop the message; never waits.
    fn log(&self, _level: LogLevel, _message: &str) {}
}

/// Chunks that earlier runs of a call have sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierChunks {
    pub chunks: u64,
    /// Size of their content.
    pub bytes: u64,
    /// What their sink had counted; none if it counts nothing, or if it was not the sink of this call.
    pub counted: Option<Vec<u8>>,
}

/// Drops everything: for callers that need only the result.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

#[async_trait]
impl CallSink for NoSink {
    async fn chunk(&self, _seq: u64, _chunk: Chunk) -> Result<(), OutputError> {
        Ok(())
    }

    fn progress(&self, _report: ProgressReport) {}
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProgressReport {
    /// Grows from report to report.
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OutputError {
    Closed,
    Exhausted(Exhaustion),
    Invalid(String),
}
