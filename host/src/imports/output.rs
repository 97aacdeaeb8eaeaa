//! `output`: chunks of a running call.

use super::{Budgeted, Content, Exhaustion, Level, Report};
use crate::policy::Limits;
use async_trait::async_trait;
use std::sync::Arc;

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// Where a running call's output goes.
#[async_trait]
pub trait CallSink: Send + Sync {
    /// Takes one chunk; waits while the reader is behind, which is how back-pressure reaches the guest.
    async fn chunk(&self, seq: u64, content: Vec<Content>) -> Result<(), Closed>;
    /// Takes a progress report, or drops it; never waits.
    fn progress(&self, report: Report);
    /// Takes a message of `log`, or drops it; never waits.
    fn log(&self, _level: Level, _message: &str) {}
}

/// Counts and drops: for callers that only want the result.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

#[async_trait]
impl CallSink for NoSink {
    async fn chunk(&self, _seq: u64, _content: Vec<Content>) -> Result<(), Closed> {
        Ok(())
    }

    fn progress(&self, _report: Report) {}
}

/// Pieces of one chunk. Bounds what pieces of next to no bytes cost in a queue and on the wire.
const MAX_PIECES: usize = 256;

/// Why a chunk was not sent.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputError {
    /// Nobody reads any more.
    Closed,
    /// A ceiling.
    Exhausted(Exhaustion),
    /// Cannot be sent as it is.
    Invalid(String),
}

/// Chunks sent so far and what may still be sent.
pub struct Output {
    sink: Arc<dyn CallSink>,
    chunks: u64,
    bytes: u64,
    max_chunk: u64,
    max_chunks: u64,
    max_bytes: u64,
}

impl Output {
    pub(super) fn new(limits: &Limits, sink: Arc<dyn CallSink>) -> Self {
        Self {
            sink,
            chunks: 0,
            bytes: 0,
            max_chunk: limits.chunk.as_u64(),
            max_chunks: limits.chunks,
            max_bytes: limits.output.as_u64(),
        }
    }

    /// Sends one chunk.
    pub async fn emit(&mut self, content: Vec<Content>) -> Result<u64, OutputError> {
        if content.is_empty() {
            return Err(OutputError::Invalid("a chunk needs at least one piece of content".into()));
        }
        if content.len() > MAX_PIECES {
            let text = format!("a chunk has at most {MAX_PIECES} pieces of content, not {}", content.len());
            return Err(OutputError::Invalid(text));
        }
        for piece in &content {
            piece.check().map_err(OutputError::Invalid)?;
        }
        let size: u64 = content.iter().map(Content::size).sum();
        if size > self.max_chunk {
            let text = format!("the chunk is {size} bytes, limits.chunk allows {}; send it in parts", self.max_chunk);
            return Err(OutputError::Invalid(text));
        }
        if self.chunks >= self.max_chunks {
            return Err(OutputError::Exhausted(Exhaustion { budget: Budgeted::Chunks, limit: self.max_chunks }));
        }
        if self.bytes + size > self.max_bytes {
            return Err(OutputError::Exhausted(Exhaustion { budget: Budgeted::Output, limit: self.max_bytes }));
        }
        let seq = self.chunks;
        self.chunks += 1;
        self.bytes += size;
        self.sink.chunk(seq, content).await.map_err(|Closed| OutputError::Closed)?;
        Ok(seq)
    }

    /// Passes on a message of `log` that is within its limits.
    pub fn log(&self, level: Level, message: &str) {
        self.sink.log(level, message);
    }

    /// Chunks sent.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Bytes sent, and with `result` bytes more: what the call gave in all. An error when that is too much.
    pub fn with_result(&self, result: u64) -> Result<u64, (u64, u64)> {
        let used = self.bytes + result;
        if used > self.max_bytes { Err((used, self.max_bytes)) } else { Ok(used) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    fn output(limits: Limits) -> Output {
        Output::new(&limits, Arc::new(NoSink))
    }

    #[tokio::test]
    async fn counts_and_ends_at_each_ceiling() {
        let limits = Limits { chunk: ByteSize::b(4), chunks: 3, output: ByteSize::b(9), ..Limits::default() };
        let mut out = output(limits);
        assert_eq!(out.emit(vec![Content::text("1234")]).await, Ok(0));
        assert!(matches!(out.emit(vec![Content::text("12345")]).await, Err(OutputError::Invalid(_))));
        assert!(matches!(out.emit(vec![]).await, Err(OutputError::Invalid(_))));
        assert!(matches!(out.emit(vec![Content::text(""); 257]).await, Err(OutputError::Invalid(_))));
        assert_eq!(out.emit(vec![Content::text("1234")]).await, Ok(1));
        let full = OutputError::Exhausted(Exhaustion { budget: Budgeted::Output, limit: 9 });
        assert_eq!(out.emit(vec![Content::text("12")]).await, Err(full));
        assert_eq!(out.emit(vec![Content::text("1")]).await, Ok(2));
        let many = OutputError::Exhausted(Exhaustion { budget: Budgeted::Chunks, limit: 3 });
        assert_eq!(out.emit(vec![Content::text("")]).await, Err(many));
        assert_eq!((out.chunks(), out.with_result(0), out.with_result(1)), (3, Ok(9), Err((10, 9))));
    }
}
