//! `output`: chunks of a running call, and of the calls below it whose chunks it passes on.

use super::{Budgeted, Content, Exhaustion, Level, Report};
use async_trait::async_trait;
use policy::Limits;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// A piece of a call's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// What it says.
    pub content: Vec<Content>,
    /// The tools below the call that it comes from, outermost first; empty for the call's own.
    pub origin: Vec<String>,
}

/// Where a running call's output goes.
#[async_trait]
pub trait CallSink: Send + Sync {
    /// Takes one chunk; waits while the reader is behind, which is how back-pressure reaches the guest. Dropped while it
    /// waits, it has taken nothing.
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError>;
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
    async fn chunk(&self, _seq: u64, _chunk: Chunk) -> Result<(), OutputError> {
        Ok(())
    }

    fn progress(&self, _report: Report) {}
}

/// Pieces of one chunk. Bounds what pieces of next to no bytes cost in a queue and on the wire.
const MAX_PIECES: usize = 256;

/// Tools that a chunk may have come through. Bounds what a server below, which words some of them, adds to each chunk.
const MAX_ORIGIN: usize = 32;

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
pub struct Output(Arc<Shared>);

/// What a call shares with the calls below it whose chunks it passes on: one sequence, one set of ceilings.
struct Shared {
    sink: Arc<dyn CallSink>,
    /// Held while a chunk is handed over: whoever comes next gets the next number, in the order of asking.
    turn: Mutex<()>,
    chunks: AtomicU64,
    bytes: AtomicU64,
    max_chunk: u64,
    max_chunks: u64,
    max_bytes: u64,
}

impl Output {
    pub(super) fn new(limits: &Limits, sink: Arc<dyn CallSink>) -> Self {
        Self(Arc::new(Shared {
            sink,
            turn: Mutex::default(),
            chunks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            max_chunk: limits.chunk.as_u64(),
            max_chunks: limits.chunks,
            max_bytes: limits.output.as_u64(),
        }))
    }

    /// Sends one chunk.
    pub async fn emit(&self, content: Vec<Content>) -> Result<u64, OutputError> {
        self.0.send(Chunk { content, origin: Vec::new() }).await
    }

    /// Takes the chunks of a tool that this call calls, as chunks of this call, until it ends. Progress and log messages
    /// of the tool stay with it.
    pub fn forward(&self, tool: &str) -> Arc<dyn CallSink> {
        Arc::new(Forward { tool: tool.to_owned(), caller: Arc::downgrade(&self.0) })
    }

    /// Passes on a message of `log` that is within its limits.
    pub fn log(&self, level: Level, message: &str) {
        self.0.sink.log(level, message);
    }

    /// Chunks sent.
    pub fn chunks(&self) -> u64 {
        self.0.chunks.load(Ordering::Relaxed)
    }

    /// Bytes sent, and with `result` bytes more: what the call gave in all. An error when that is too much.
    pub fn with_result(&self, result: u64) -> Result<u64, (u64, u64)> {
        let used = self.0.bytes.load(Ordering::Relaxed) + result;
        if used > self.0.max_bytes { Err((used, self.0.max_bytes)) } else { Ok(used) }
    }
}

impl Shared {
    async fn send(&self, chunk: Chunk) -> Result<u64, OutputError> {
        let content = &chunk.content;
        if content.is_empty() {
            return Err(OutputError::Invalid("a chunk needs at least one piece of content".into()));
        }
        if content.len() > MAX_PIECES {
            let text = format!("a chunk has at most {MAX_PIECES} pieces of content, not {}", content.len());
            return Err(OutputError::Invalid(text));
        }
        for piece in content {
            piece.check().map_err(OutputError::Invalid)?;
        }
        let size: u64 = content.iter().map(Content::size).sum();
        if size > self.max_chunk {
            let text = format!("the chunk is {size} bytes, limits.chunk allows {}; send it in parts", self.max_chunk);
            return Err(OutputError::Invalid(text));
        }
        let _turn = self.turn.lock().await;
        let (seq, bytes) = (self.chunks.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        if seq >= self.max_chunks {
            return Err(OutputError::Exhausted(Exhaustion { budget: Budgeted::Chunks, limit: self.max_chunks }));
        }
        if bytes + size > self.max_bytes {
            return Err(OutputError::Exhausted(Exhaustion { budget: Budgeted::Output, limit: self.max_bytes }));
        }
        self.sink.chunk(seq, chunk).await?;
        // Counted only now: a call below that is stopped while it waits leaves no gap.
        self.chunks.store(seq + 1, Ordering::Relaxed);
        self.bytes.store(bytes + size, Ordering::Relaxed);
        Ok(seq)
    }
}

/// The output of a tool that a call calls, as part of the call's own.
struct Forward {
    tool: String,
    /// Weak, so that the call's output ends with the call, whoever still holds this.
    caller: Weak<Shared>,
}

#[async_trait]
impl CallSink for Forward {
    async fn chunk(&self, _seq: u64, mut chunk: Chunk) -> Result<(), OutputError> {
        let caller = self.caller.upgrade().ok_or(OutputError::Closed)?;
        chunk.origin.truncate(MAX_ORIGIN - 1);
        chunk.origin.insert(0, self.tool.clone());
        caller.send(chunk).await.map(|_| ())
    }

    fn progress(&self, _report: Report) {}
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
        let out = output(limits);
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

    /// Keeps what it is told; what does not fit waits until it is dropped.
    #[derive(Default)]
    struct Recorder {
        seen: std::sync::Mutex<Vec<(u64, Chunk)>>,
        stuck: std::sync::atomic::AtomicBool,
    }

    #[async_trait]
    impl CallSink for Recorder {
        async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
            if self.stuck.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            self.seen.lock().unwrap().push((seq, chunk));
            Ok(())
        }
        fn progress(&self, _: Report) {}
    }

    fn say(text: &str) -> Vec<Content> {
        vec![Content::text(text)]
    }

    #[tokio::test]
    async fn what_is_passed_on_shares_numbers_and_says_where_it_comes_from() {
        let recorder = Arc::new(Recorder::default());
        let root = Output::new(&Limits::default(), recorder.clone());
        let middle = Output::new(&Limits::default(), root.forward("search.find"));
        let leaf = Output::new(&Limits::default(), middle.forward("index.look"));
        assert_eq!(root.emit(say("a")).await, Ok(0));
        assert_eq!(leaf.emit(say("b")).await, Ok(0), "a tool's own numbers begin at nought");
        assert_eq!(middle.emit(say("c")).await, Ok(1), "what it passed on is its own output too");
        assert_eq!(root.emit(say("d")).await, Ok(3));
        let seen = recorder.seen.lock().unwrap();
        let expected: [(u64, &[&str]); 4] =
            [(0, &[]), (1, &["search.find", "index.look"]), (2, &["search.find"]), (3, &[])];
        for ((seq, chunk), (number, origin)) in seen.iter().zip(expected) {
            assert_eq!((*seq, chunk.origin.iter().map(String::as_str).collect::<Vec<_>>()), (number, origin.to_vec()));
        }
        assert_eq!((root.chunks(), middle.chunks(), leaf.chunks()), (4, 2, 1));
    }

    #[tokio::test]
    async fn the_callers_ceilings_hold_for_what_it_passes_on() {
        let limits = Limits { chunk: ByteSize::b(3), chunks: 2, output: ByteSize::b(4), ..Limits::default() };
        let root = output(limits);
        let below = Output::new(&Limits::default(), root.forward("a.b"));
        assert!(matches!(below.emit(say("1234")).await, Err(OutputError::Invalid(_))));
        below.emit(say("123")).await.unwrap();
        let full = OutputError::Exhausted(Exhaustion { budget: Budgeted::Output, limit: 4 });
        assert_eq!(below.emit(say("12")).await, Err(full));
        below.emit(say("1")).await.unwrap();
        let many = OutputError::Exhausted(Exhaustion { budget: Budgeted::Chunks, limit: 2 });
        assert_eq!(below.emit(say("")).await, Err(many));
        assert_eq!((root.chunks(), below.chunks(), root.with_result(0)), (2, 2, Ok(4)));
        drop(root);
        assert_eq!(below.emit(say("")).await, Err(OutputError::Closed), "a call that has ended passes nothing on");
    }

    #[tokio::test]
    async fn a_tool_that_is_stopped_while_it_waits_leaves_no_gap() {
        let recorder = Arc::new(Recorder::default());
        let root = Output::new(&Limits::default(), recorder.clone());
        let below = Output::new(&Limits::default(), root.forward("a.b"));
        recorder.stuck.store(true, Ordering::Relaxed);
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(5), below.emit(say("lost")));
        assert!(waiting.await.is_err(), "the reader is behind, and so the tool waits");
        recorder.stuck.store(false, Ordering::Relaxed);
        assert_eq!(root.emit(say("next")).await, Ok(0));
        assert_eq!((root.chunks(), below.chunks()), (1, 0));
    }
}
