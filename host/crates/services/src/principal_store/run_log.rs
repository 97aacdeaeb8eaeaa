//! Writing the log of a run.

use super::quota::{MAX_TOTAL, Usage};
use super::run::{EarlierLog, LoggedChunk, PREFIX, Run, StoredRun};
use super::store::PrincipalStore;
use policy::Principal;
use runtime::imports::MAX_KEPT_OUTPUT;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the logs of one principal; the oldest chunks of the largest are dropped. Bounds a principal that runs many calls
/// with much output and leaves others no space.
const MAX_LOGS: u64 = 64 * MAX_KEPT_OUTPUT;
/// Logs of calls of one principal that have ended; the oldest are dropped. The number of running ones is bounded by how many
/// calls may run.
const MAX_ENDED: usize = 16;
/// Lifetime after the call has ended.
const ENDED_LOG_AGE: Duration = Duration::from_secs(600);

/// A writer of a run's log. Dropping it finishes the log.
pub struct RunLog {
    store: Arc<PrincipalStore>,
    owner: Principal,
    uri: String,
}

impl PrincipalStore {
    /// `None` when there is no space for another log.
    pub fn begin_run(self: &Arc<Self>, owner: &Principal, run: Run) -> Option<RunLog> {
        self.begin(owner, run, EarlierLog::default())
    }

    /// Begins the log of a call that runs again, with what [`Self::kept_log`] gave of an earlier run.
    pub fn resume_run(self: &Arc<Self>, owner: &Principal, run: Run, kept: &str) -> Option<RunLog> {
        let earlier = EarlierLog::parse(kept).unwrap_or_else(|error| {
            tracing::warn!(call = run.source.call, %error, "the output of an earlier run of a call cannot be read");
            EarlierLog::default()
        });
        self.begin(owner, run, earlier)
    }

    /// A log as JSON text, and the number of its next chunk, which is higher than `known`. This does not count as a read by a
    /// client.
    pub fn kept_log(&self, owner: &Principal, uri: &str, known: u64) -> Option<(u64, String)> {
        let excerpt = self.with_owner(owner, |own, _| {
            own.runs
                .iter()
                .find(|kept| kept.uri == uri && kept.next > known)
                .map(|kept| (kept.next, kept.excerpt(None)))
        });
        excerpt.map(|(next, excerpt)| (next, excerpt.into_json()))
    }

    fn begin(self: &Arc<Self>, owner: &Principal, run: Run, earlier: EarlierLog) -> Option<RunLog> {
        let uri = RunLog::uri_of(&run.source.call);
        self.with_writer(owner, |own, context| {
            // A call that runs again writes its log again.
            own.runs.retain(|kept| kept.uri != uri);
            while own.runs.iter().filter(|kept| kept.has_ended()).count() >= MAX_ENDED
                && let Some(oldest) = own.runs.iter().position(StoredRun::has_ended)
            {
                own.runs.remove(oldest);
            }
            context.others.plus(own.usage()).plus(Usage::one(0)).within(MAX_TOTAL).ok()?;
            let (uri, next, modified) = (uri.clone(), earlier.next, context.wall);
            let chunks: VecDeque<_> = earlier.into_chunks().collect();
            let bytes = chunks.iter().map(LoggedChunk::size).sum();
            own.runs.push_back(StoredRun { run, uri, chunks, bytes, next, modified, expires: None, notified: false });
            // No list-changed notification: clients would reload the list on every call.
            Some(())
        })?;
        Some(RunLog { store: self.clone(), owner: owner.clone(), uri })
    }
}

impl RunLog {
    /// The URI of a call's log.
    pub fn uri_of(call: &str) -> String {
        format!("{PREFIX}{call}")
    }

    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// `content` is JSON text; `origin` are the called tools that it came through.
    pub fn append(&self, seq: u64, content: String, origin: Vec<String>) {
        let line = LoggedChunk { seq, content, origin };
        self.store.with_writer(&self.owner, |own, context| {
            let full = context.others.plus(own.usage()).plus(Usage::one(line.content.len())).is_full();
            let Some(kept) = own.runs.iter_mut().find(|kept| kept.uri == self.uri) else { return };
            if seq < kept.next {
                // The log has it already, from an earlier run.
                return;
            }
            kept.next = seq + 1;
            kept.modified = context.wall;
            let size = line.size();
            if size <= MAX_KEPT_OUTPUT && !full {
                kept.bytes += size;
                kept.chunks.push_back(line);
                while kept.bytes > MAX_KEPT_OUTPUT && kept.drop_oldest() {}
            }
            if !std::mem::replace(&mut kept.notified, true) {
                context.changed(&self.uri);
            }
            own.shrink_logs(MAX_LOGS);
        });
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        self.store.with_owner(&self.owner, |own, context| {
            if let Some(kept) = own.runs.iter_mut().find(|kept| kept.uri == self.uri) {
                kept.expires = Some(context.now + ENDED_LOG_AGE);
                kept.modified = context.wall;
                context.changed(&self.uri);
            }
        });
    }
}
