//! `output`: chunks of a running call, and of the calls below it whose chunks it passes on.

use super::call_sink::{CallSink, Chunk, EarlierChunks, OutputError, ProgressReport};
use super::types::{BudgetKind, Content, Exhaustion};
use async_trait::async_trait;
use policy::Limits;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// Content items of one chunk. Bounds what nearly empty items cost in a queue and on the wire.
const MAX_PIECES: usize = 256;

/// Tools in a chunk's `origin`. Bounds what an upstream server, which names some of them, adds to each chunk.
const MAX_ORIGIN: usize = 32;

/// Bytes of a call's newest chunks that a host keeps for readers who come later. Bounds its memory.
pub const MAX_KEPT_OUTPUT: u64 = 256 << 10;

/// Bytes that a kept chunk takes besides its content. Without this, many tiny chunks would be free.
const KEPT_CHUNK: u64 = 64;

/// The chunks of one call: what was sent, and what may still be sent. Clones share them.
#[derive(Clone)]
pub struct Output(Arc<SharedOutput>);

/// Shared with the reverse calls whose chunks this call passes on: one sequence of numbers, one set of limits.
struct SharedOutput {
    sink: Arc<dyn CallSink>,
    /// Held while a chunk is handed over, so that chunks are numbered in the order in which they were emitted.
    turn: Mutex<()>,
    chunks: AtomicU64,
    bytes: AtomicU64,
    max_chunk: u64,
    max_chunks: u64,
    max_bytes: u64,
}

impl Output {
    pub(super) fn new(limits: &Limits, sink: Arc<dyn CallSink>) -> Self {
        Self(Arc::new(SharedOutput {
            sink,
            turn: Mutex::default(),
            chunks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            max_chunk: limits.chunk.as_u64(),
            max_chunks: limits.chunks,
            max_bytes: limits.output.as_u64(),
        }))
    }

    pub async fn emit(&self, content: Vec<Content>) -> Result<u64, OutputError> {
        self.0.send(Chunk { content, origin: Vec::new() }).await
    }

    /// Counts a chunk that an earlier run has sent.
    pub(super) fn replayed(&self, outcome: &Result<u64, OutputError>, content: Vec<Content>) {
        if let Ok(seq) = outcome {
            let size: u64 = content.iter().map(Content::size).sum();
            self.advance(*seq + 1, self.bytes() + size);
            self.0.sink.replayed_chunk(*seq, Chunk { content, origin: Vec::new() });
        }
    }

    /// Counts what earlier runs have sent in all.
    pub(super) fn catch_up(&self, earlier: EarlierChunks) {
        let EarlierChunks { chunks, bytes, counted } = earlier;
        // This run has already counted the chunks that came before the step at which it learnt of the checkpoint.
        let (more, more_bytes) = (chunks.saturating_sub(self.chunks()), bytes.saturating_sub(self.bytes()));
        self.advance(chunks, bytes);
        self.0.sink.catch_up(EarlierChunks { chunks: more, bytes: more_bytes, counted });
    }

    pub(super) fn advance(&self, chunks: u64, bytes: u64) {
        self.0.chunks.fetch_max(chunks, Ordering::Relaxed);
        self.0.bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Waits until the sink has taken all chunks that were sent before, and returns what it has counted.
    pub(super) async fn counted(&self) -> Option<Vec<u8>> {
        self.0.sink.flush().await;
        self.0.sink.counted()
    }

    /// A sink that emits the chunks of a called tool as chunks of this call, until the call ends. The tool's progress
    /// and log messages are dropped.
    pub fn forward(&self, tool: &str) -> Arc<dyn CallSink> {
        Arc::new(Forward { tool: tool.to_owned(), caller: Arc::downgrade(&self.0) })
    }

    pub fn chunks(&self) -> u64 {
        self.0.chunks.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// About how many bytes of the chunks a host keeps.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.chunks().saturating_mul(KEPT_CHUNK).saturating_add(self.bytes()).min(MAX_KEPT_OUTPUT)
    }
}

impl SharedOutput {
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
            return Err(OutputError::Exhausted(Exhaustion { budget: BudgetKind::Chunks, limit: self.max_chunks }));
        }
        if bytes + size > self.max_bytes {
            return Err(OutputError::Exhausted(Exhaustion { budget: BudgetKind::Output, limit: self.max_bytes }));
        }
        self.sink.chunk(seq, chunk).await?;
        // Counted after sending: a reverse call that is cancelled while it waits leaves no gap in the numbers.
        self.chunks.store(seq + 1, Ordering::Relaxed);
        self.bytes.store(bytes + size, Ordering::Relaxed);
        Ok(seq)
    }
}

/// Emits the chunks of a called tool as chunks of the calling call.
struct Forward {
    tool: String,
    /// Weak, so that the output ends with the call even if this sink lives longer.
    caller: Weak<SharedOutput>,
}

#[async_trait]
impl CallSink for Forward {
    async fn chunk(&self, _seq: u64, mut chunk: Chunk) -> Result<(), OutputError> {
        let caller = self.caller.upgrade().ok_or(OutputError::Closed)?;
        chunk.origin.truncate(MAX_ORIGIN - 1);
        chunk.origin.insert(0, self.tool.clone());
        caller.send(chunk).await.map(|_| ())
    }

    fn replayed_chunk(&self, _seq: u64, mut chunk: Chunk) {
        let Some(caller) = self.caller.upgrade() else { return };
        let seq = caller.chunks.fetch_add(1, Ordering::Relaxed);
        caller.bytes.fetch_add(chunk.content.iter().map(Content::size).sum::<u64>(), Ordering::Relaxed);
        chunk.origin.truncate(MAX_ORIGIN - 1);
        chunk.origin.insert(0, self.tool.clone());
        caller.sink.replayed_chunk(seq, chunk);
    }

    async fn flush(&self) {
        if let Some(caller) = self.caller.upgrade() {
            caller.sink.flush().await;
        }
    }

    fn catch_up(&self, earlier: EarlierChunks) {
        let Some(caller) = self.caller.upgrade() else { return };
        caller.chunks.fetch_add(earlier.chunks, Ordering::Relaxed);
        caller.bytes.fetch_add(earlier.bytes, Ordering::Relaxed);
        caller.sink.catch_up(EarlierChunks { counted: None, ..earlier });
    }

    fn progress(&self, _report: ProgressReport) {}
}

#[cfg(test)]
mod tests {
    use super::super::call_sink::NoSink;
    use super::*;
    use bytesize::ByteSize;

    fn output(limits: Limits) -> Output {
        Output::new(&limits, Arc::new(NoSink))
    }

    #[tokio::test]
    async fn each_limit_ends_the_output() {
        let limits = Limits { chunk: ByteSize::b(4), chunks: 3, output: ByteSize::b(9), ..Limits::default() };
        let out = output(limits);
        assert_eq!(out.emit(vec![Content::text("1234")]).await, Ok(0));
        assert!(matches!(out.emit(vec![Content::text("12345")]).await, Err(OutputError::Invalid(_))));
        assert!(matches!(out.emit(vec![]).await, Err(OutputError::Invalid(_))));
        assert!(matches!(out.emit(vec![Content::text(""); 257]).await, Err(OutputError::Invalid(_))));
        assert_eq!(out.emit(vec![Content::text("1234")]).await, Ok(1));
        let full = OutputError::Exhausted(Exhaustion { budget: BudgetKind::Output, limit: 9 });
        assert_eq!(out.emit(vec![Content::text("12")]).await, Err(full));
        assert_eq!(out.emit(vec![Content::text("1")]).await, Ok(2));
        assert_eq!(out.kept_bytes(), 3 * 64 + 9, "tiny chunks are not kept for nothing");
        let many = OutputError::Exhausted(Exhaustion { budget: BudgetKind::Chunks, limit: 3 });
        assert_eq!(out.emit(vec![Content::text("")]).await, Err(many));
        assert_eq!((out.chunks(), out.bytes()), (3, 9));
    }

    /// Keeps every chunk; waits forever while `stuck`.
    #[derive(Default)]
    struct Recorder {
        seen: platform::sync::Mutex<Vec<(u64, Chunk)>>,
        stuck: std::sync::atomic::AtomicBool,
    }

    #[async_trait]
    impl CallSink for Recorder {
        async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
            if self.stuck.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            self.seen.lock().push((seq, chunk));
            Ok(())
        }
        fn progress(&self, _: ProgressReport) {}
    }

    fn say(text: &str) -> Vec<Content> {
        vec![Content::text(text)]
    }

    #[tokio::test]
    async fn forwarded_chunks_share_numbers_and_name_their_origin() {
        let recorder = Arc::new(Recorder::default());
        let root = Output::new(&Limits::default(), recorder.clone());
        let middle = Output::new(&Limits::default(), root.forward("search.find"));
        let leaf = Output::new(&Limits::default(), middle.forward("index.look"));
        assert_eq!(root.emit(say("a")).await, Ok(0));
        assert_eq!(leaf.emit(say("b")).await, Ok(0), "a tool's own numbers start at zero");
        assert_eq!(middle.emit(say("c")).await, Ok(1), "forwarded chunks are its own output too");
        assert_eq!(root.emit(say("d")).await, Ok(3));
        let seen = recorder.seen.lock();
        let expected: [(u64, &[&str]); 4] =
            [(0, &[]), (1, &["search.find", "index.look"]), (2, &["search.find"]), (3, &[])];
        for ((seq, chunk), (number, origin)) in seen.iter().zip(expected) {
            assert_eq!((*seq, chunk.origin.iter().map(String::as_str).collect::<Vec<_>>()), (number, origin.to_vec()));
        }
        assert_eq!((root.chunks(), middle.chunks(), leaf.chunks()), (4, 2, 1));
    }

    #[tokio::test]
    async fn the_callers_limits_apply_to_forwarded_chunks() {
        let limits = Limits { chunk: ByteSize::b(3), chunks: 2, output: ByteSize::b(4), ..Limits::default() };
        let root = output(limits);
        let below = Output::new(&Limits::default(), root.forward("a.b"));
        assert!(matches!(below.emit(say("1234")).await, Err(OutputError::Invalid(_))));
        below.emit(say("123")).await.unwrap();
        let full = OutputError::Exhausted(Exhaustion { budget: BudgetKind::Output, limit: 4 });
        assert_eq!(below.emit(say("12")).await, Err(full));
        below.emit(say("1")).await.unwrap();
        let many = OutputError::Exhausted(Exhaustion { budget: BudgetKind::Chunks, limit: 2 });
        assert_eq!(below.emit(say("")).await, Err(many));
        assert_eq!((root.chunks(), below.chunks(), root.bytes()), (2, 2, 4));
        drop(root);
        assert_eq!(below.emit(say("")).await, Err(OutputError::Closed), "a call that has ended passes nothing on");
    }

    #[tokio::test]
    async fn what_a_nested_call_has_sent_before_its_checkpoint_keeps_its_numbers() {
        let recorder = Arc::new(Recorder::default());
        let root = Output::new(&Limits::default(), recorder.clone());
        let below = Output::new(&Limits::default(), root.forward("a.b"));
        root.emit(say("a")).await.unwrap();
        below.replayed(&Ok(0), say("before it asked what was saved"));
        below.catch_up(EarlierChunks { chunks: 3, bytes: 40, counted: None });
        assert_eq!(below.emit(say("d")).await, Ok(3));
        assert_eq!((root.chunks(), root.bytes()), (5, 42));
        assert_eq!(recorder.seen.lock().iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [0, 4]);
    }

    #[tokio::test]
    async fn a_cancelled_emit_leaves_no_gap() {
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
