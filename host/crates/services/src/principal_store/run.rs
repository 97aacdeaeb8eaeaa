//! One run's log: the chunks of a call, for clients that cannot be sent them while it runs.

use super::context::format_date;
use super::quota::Usage;
use runtime::imports::Provenance;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Instant, SystemTime};

/// URI prefix of run logs.
pub(super) const PREFIX: &str = "portcullis://runs/";

/// The `_meta` key with a chunk's origin, as in its notification.
const CHUNK_ORIGIN: &str = "dev.portcullis/origin";

/// A call whose chunks are logged.
#[derive(Debug, Clone)]
pub struct Run {
    pub source: Provenance,
    /// The tool's name for clients.
    pub tool: String,
}

/// A stored log.
pub(super) struct StoredRun {
    pub(super) run: Run,
    pub(super) uri: String,
    pub(super) chunks: VecDeque<LoggedChunk>,
    pub(super) bytes: u64,
    /// The number of the next chunk.
    pub(super) next: u64,
    pub(super) modified: SystemTime,
    /// Set when the call has ended.
    pub(super) expires: Option<Instant>,
    /// Clients were notified and have not read since; another notification would be useless.
    pub(super) notified: bool,
}

/// A copy taken under the store's lock and serialised outside it.
pub(super) struct RunExcerpt {
    run: Run,
    chunks: Vec<LoggedChunk>,
    next: u64,
    dropped: u64,
    ended: bool,
    modified: SystemTime,
}

#[derive(Serialize)]
struct RunDocument {
    tool: String,
    #[serde(flatten)]
    source: Provenance,
    chunks: Vec<ShownChunk>,
    /// The cursor for `?after` is one less.
    next: u64,
    /// How many of the requested chunks were dropped.
    dropped: u64,
    #[serde(rename = "final")]
    ended: bool,
    time: String,
}

#[derive(Debug, Clone)]
pub(super) struct LoggedChunk {
    pub(super) seq: u64,
    /// JSON text.
    pub(super) content: String,
    /// The called tools that it came through.
    pub(super) origin: Vec<String>,
}

impl LoggedChunk {
    /// Bytes that are counted, including overhead, so that many tiny chunks are not free.
    pub(super) fn size(&self) -> u64 {
        let origin: usize = self.origin.iter().map(|tool| tool.len() + 24).sum();
        (self.content.len() + origin) as u64 + 64
    }
}

/// What a log had kept of an earlier run of its call.
#[derive(Default, Deserialize)]
pub(super) struct EarlierLog {
    chunks: Vec<ShownChunk>,
    pub(super) next: u64,
}

impl EarlierLog {
    /// Parses what [`RunExcerpt::into_json`] returned.
    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    pub(super) fn into_chunks(self) -> impl Iterator<Item = LoggedChunk> {
        self.chunks.into_iter().map(|ShownChunk { seq, content, meta }| {
            let origin = meta.and_then(|mut meta| serde_json::from_value(meta[CHUNK_ORIGIN].take()).ok());
            LoggedChunk { seq, content: content.to_string(), origin: origin.unwrap_or_default() }
        })
    }
}

#[derive(Serialize, Deserialize)]
struct ShownChunk {
    seq: u64,
    content: Value,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl RunExcerpt {
    pub(super) fn source(&self) -> &Provenance {
        &self.run.source
    }

    pub(super) fn into_json(self) -> String {
        let Self { run: Run { source, tool }, chunks, next, dropped, ended, modified } = self;
        let shown = |LoggedChunk { seq, content, origin }: LoggedChunk| {
            let content = serde_json::from_str(&content).unwrap_or_default();
            let meta = (!origin.is_empty()).then(|| json!({ CHUNK_ORIGIN: origin }));
            ShownChunk { seq, content, meta }
        };
        let chunks = chunks.into_iter().map(shown).collect();
        let document = RunDocument { tool, source, chunks, next, dropped, ended, time: format_date(modified) };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

impl StoredRun {
    pub(super) fn usage(&self) -> Usage {
        Usage { items: 1, bytes: self.bytes }
    }

    /// Returns false if there was no chunk.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let oldest = self.chunks.pop_front();
        self.bytes -= oldest.as_ref().map_or(0, LoggedChunk::size);
        oldest.is_some()
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.expires.is_some()
    }

    pub(super) fn tool(&self) -> &str {
        &self.run.tool
    }

    pub(super) fn source(&self) -> &Provenance {
        &self.run.source
    }

    /// Chunks after number `after`, for a client.
    pub(super) fn read(&mut self, after: Option<u64>) -> RunExcerpt {
        self.notified = false;
        self.excerpt(after)
    }

    pub(super) fn excerpt(&self, after: Option<u64>) -> RunExcerpt {
        let from = after.map_or(0, |seq| seq.saturating_add(1));
        let chunks: Vec<_> = self.chunks.iter().filter(|line| line.seq >= from).cloned().collect();
        let dropped = self.next.saturating_sub(from).saturating_sub(chunks.len() as u64);
        let (run, next, ended, modified) = (self.run.clone(), self.next, self.has_ended(), self.modified);
        RunExcerpt { run, chunks, next, dropped, ended, modified }
    }
}
