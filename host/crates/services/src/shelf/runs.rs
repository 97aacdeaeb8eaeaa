//! Logs of runs: the chunks of a call, for clients that cannot be sent them while it runs.

use super::quota::{ALL, Held};
use super::{Shelf, date};
use policy::Principal;
use runtime::imports::Provenance;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What the URI of every log begins with.
pub(super) const PREFIX: &str = "portcullis://runs/";

/// Where a chunk that was passed on says where it comes from, as its notification would.
pub const CHUNK_ORIGIN: &str = "dev.portcullis/origin";

/// Bytes of one log; older chunks make room. Bounds the host's memory.
const KEPT: u64 = 256 << 10;
/// Logs of one principal; older ones that are finished make room, and a run that finds none is not logged.
const LOGS: usize = 16;
/// How long a log stays when its call has ended.
const STAY: Duration = Duration::from_secs(600);

/// A call that is to be logged.
#[derive(Debug, Clone)]
pub struct Run {
    /// Which call of which plugin.
    pub source: Provenance,
    /// The tool, as clients call it.
    pub tool: String,
}

/// A log that is being written. Dropping it ends the log.
pub struct RunLog {
    shelf: Arc<Shelf>,
    owner: Principal,
    uri: String,
}

/// A log on the shelf.
pub(super) struct Kept {
    run: Run,
    pub(super) uri: String,
    chunks: VecDeque<Line>,
    bytes: u64,
    /// The number of the chunk that comes next.
    next: u64,
    pub(super) modified: SystemTime,
    /// Set when the call has ended.
    expires: Option<Instant>,
    /// Clients were told that there is more, and none has looked since: telling them again would be of no use.
    told: bool,
}

/// What is read of a log: taken under the shelf's lock, made into text outside it.
pub(super) struct Excerpt {
    run: Run,
    chunks: Vec<Line>,
    next: u64,
    dropped: u64,
    ended: bool,
    modified: SystemTime,
}

#[derive(Serialize)]
struct Document {
    tool: String,
    #[serde(flatten)]
    source: Provenance,
    chunks: Vec<Shown>,
    /// The cursor for reading on is one less.
    next: u64,
    /// How many of the chunks asked for are gone.
    dropped: u64,
    #[serde(rename = "final")]
    ended: bool,
    time: String,
}

/// A chunk in a log.
#[derive(Debug, Clone)]
struct Line {
    seq: u64,
    /// JSON text.
    content: String,
    /// The tools below the call that it comes from.
    origin: Vec<String>,
}

impl Line {
    /// What it takes: tiny ones cost more than their bytes.
    fn size(&self) -> u64 {
        let origin: usize = self.origin.iter().map(|tool| tool.len() + 24).sum();
        (self.content.len() + origin) as u64 + 64
    }
}

#[derive(Serialize)]
struct Shown {
    seq: u64,
    content: Value,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl Excerpt {
    pub(super) fn source(&self) -> &Provenance {
        &self.run.source
    }

    /// As JSON.
    pub(super) fn text(self) -> String {
        let Self { run: Run { source, tool }, chunks, next, dropped, ended, modified } = self;
        let shown = |Line { seq, content, origin }: Line| {
            let content = serde_json::from_str(&content).unwrap_or_default();
            let meta = (!origin.is_empty()).then(|| json!({ CHUNK_ORIGIN: origin }));
            Shown { seq, content, meta }
        };
        let chunks = chunks.into_iter().map(shown).collect();
        let document = Document { tool, source, chunks, next, dropped, ended, time: date(modified) };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

impl Kept {
    pub(super) fn held(&self) -> Held {
        Held { items: 1, bytes: self.bytes }
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

    /// From after the chunk numbered `after` on.
    pub(super) fn excerpt(&mut self, after: Option<u64>) -> Excerpt {
        self.told = false;
        let from = after.map_or(0, |seq| seq.saturating_add(1));
        let chunks: Vec<_> = self.chunks.iter().filter(|line| line.seq >= from).cloned().collect();
        let dropped = self.next.saturating_sub(from).saturating_sub(chunks.len() as u64);
        let (run, next, ended, modified) = (self.run.clone(), self.next, self.has_ended(), self.modified);
        Excerpt { run, chunks, next, dropped, ended, modified }
    }
}

impl Shelf {
    /// Begins the log of a call; none when there is no room for one.
    pub fn begin_run(self: &Arc<Self>, owner: &Principal, run: Run) -> Option<RunLog> {
        let uri = format!("{PREFIX}{}", run.source.call);
        self.with(owner, |own, desk| {
            if own.runs.len() >= LOGS {
                let oldest = own.runs.iter().position(Kept::has_ended)?;
                own.runs.remove(oldest);
            }
            desk.others.plus(own.held()).plus(Held::one(0)).within(ALL).ok()?;
            let (chunks, modified) = (VecDeque::new(), desk.wall);
            let uri = uri.clone();
            own.runs.push_back(Kept { run, uri, chunks, bytes: 0, next: 0, modified, expires: None, told: false });
            // The list has changed, and nobody is told: a client that reads lists would do so with every call.
            Some(())
        })?;
        Some(RunLog { shelf: self.clone(), owner: owner.clone(), uri })
    }
}

impl RunLog {
    /// Where clients find it.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Adds a chunk, its content as JSON text, and the tools below the call that it comes from.
    pub fn append(&self, seq: u64, content: String, origin: Vec<String>) {
        let line = Line { seq, content, origin };
        self.shelf.with(&self.owner, |own, desk| {
            let full = desk.others.plus(own.held()).plus(Held::one(line.content.len())).is_full();
            let Some(kept) = own.runs.iter_mut().find(|kept| kept.uri == self.uri) else { return };
            kept.next = seq + 1;
            kept.modified = desk.wall;
            let size = line.size();
            if size <= KEPT && !full {
                while kept.bytes + size > KEPT
                    && let Some(oldest) = kept.chunks.pop_front()
                {
                    kept.bytes -= oldest.size();
                }
                kept.bytes += size;
                kept.chunks.push_back(line);
            }
            if !std::mem::replace(&mut kept.told, true) {
                desk.changed(&self.uri);
            }
        });
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        self.shelf.with(&self.owner, |own, desk| {
            if let Some(kept) = own.runs.iter_mut().find(|kept| kept.uri == self.uri) {
                kept.expires = Some(desk.now + STAY);
                kept.modified = desk.wall;
                desk.changed(&self.uri);
            }
        });
    }
}
