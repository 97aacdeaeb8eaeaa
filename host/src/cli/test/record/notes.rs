//! What is noted of a recorded call while it runs.

use super::super::http_reply::{HttpReply, credentials, is_recorded};
use super::super::reply::Reply;
use super::super::script::Seen;
use super::super::tool_reply::ToolReply;
use http::HeaderMap;
use platform::sync::Mutex;
use runtime::imports::Abilities;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes that are recorded of one call. Bounds the memory that an endless answer or a flood of chunks takes, and keeps the file
/// small enough for people to read and for `portcullis test` to accept.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// Bytes that an entry counts besides its text. Bounds the number of empty entries.
const ENTRY: usize = 64;
/// How many reasons against recording are kept. More of them would not help the user.
const MAX_OBSTACLES: usize = 8;

/// Clones share the notes.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    noted: RecordedNotes,
    bytes: usize,
    is_full: bool,
}

#[derive(Default)]
pub(super) struct RecordedNotes {
    pub(super) seen: Seen,
    pub(super) answers: Vec<Reply>,
    /// Called tools in the order of their calls, with the reply once there is one.
    pub(super) tools: Vec<(String, Option<ToolReply>)>,
    /// HTTP requests in their order, including those that the host refused to send.
    pub(super) http: Vec<RecordedExchange>,
    /// What the client could be asked; none if nothing queried that.
    pub(super) abilities: Option<Abilities>,
    /// Why the call cannot be recorded.
    pub(super) obstacles: BTreeSet<String>,
    /// Why its replay may differ.
    pub(super) hints: BTreeSet<String>,
    /// Credentials in answers of servers, by the names of their headers.
    pub(super) credentials: Vec<(String, String)>,
}

/// A request, and its answer as far as the guest has read it.
#[derive(Default)]
pub(super) struct RecordedExchange {
    pub(super) line: String,
    answer: Option<(u16, HeaderMap, Vec<u8>)>,
    is_refused: bool,
}

impl Notes {
    /// Adds a note of this size in bytes, unless [`MAX_BYTES`] is exceeded. `what` names it for the message about that.
    fn add<T>(
        &self,
        size: usize,
        what: impl FnOnce() -> String,
        note: impl FnOnce(&mut RecordedNotes) -> T,
    ) -> Option<T> {
        let mut state = self.0.lock();
        if state.is_full {
            return None;
        }
        state.bytes = state.bytes.saturating_add(size).saturating_add(ENTRY);
        if state.bytes > MAX_BYTES {
            let obstacles = BTreeSet::from([format!(
                "it is more than a transcript can hold, {} MiB, with {}",
                MAX_BYTES >> 20,
                what()
            )]);
            (state.is_full, state.noted) = (true, RecordedNotes { obstacles, ..RecordedNotes::default() });
            return None;
        }
        Some(note(&mut state.noted))
    }

    pub(super) fn take(&self) -> RecordedNotes {
        std::mem::take(&mut self.0.lock().noted)
    }

    pub(super) fn obstacle(&self, why: String) {
        let obstacles = &mut self.0.lock().noted.obstacles;
        if obstacles.len() < MAX_OBSTACLES {
            obstacles.insert(why);
        }
    }

    pub(super) fn hint(&self, why: &'static str) {
        self.0.lock().noted.hints.insert(why.to_owned());
    }

    pub(super) fn abilities(&self, abilities: Abilities) {
        self.0.lock().noted.abilities = Some(abilities);
    }

    pub(super) fn chunk(&self, text: String) {
        self.add(text.len(), || "the chunks".into(), |noted| noted.seen.chunks.push(text));
    }

    pub(super) fn asked(&self, message: String, reply: Result<Reply, String>) {
        let size = message.len()
            + match &reply {
                Ok(Reply::Model(text)) => text.len(),
                Ok(Reply::Form(content)) => content.to_string().len(),
                Ok(Reply::Visit | Reply::Decline | Reply::Cancel) | Err(_) => 0,
            };
        let reply = reply.map_err(|why| self.obstacle(why)).ok();
        self.add(
            size,
            || "the answers to its questions".into(),
            |noted| {
                noted.seen.asked.push(message);
                noted.answers.extend(reply);
            },
        );
    }

    /// Notes a call of an agent's tool. Returns its index.
    pub(super) fn called(&self, name: String, line: String) -> Option<usize> {
        self.add(
            line.len(),
            || "the calls of the agent's tools".into(),
            |noted| {
                noted.seen.called.push(line);
                noted.tools.push((name, None));
                noted.tools.len() - 1
            },
        )
    }

    pub(super) fn replied(&self, at: Option<usize>, size: u64, reply: Result<ToolReply, String>) {
        let reply = reply.map_err(|why| self.obstacle(why)).ok();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        self.add(
            size,
            || "the results of the agent's tools".into(),
            |noted| {
                if let Some(slot) = at.and_then(|at| noted.tools.get_mut(at)) {
                    slot.1 = reply;
                }
            },
        );
    }

    /// Notes an HTTP request. Returns its index.
    pub(super) fn sent(&self, line: String) -> Option<usize> {
        self.add(
            line.len(),
            || "its HTTP requests".into(),
            |noted| {
                noted.http.push(RecordedExchange { line, ..RecordedExchange::default() });
                noted.http.len() - 1
            },
        )
    }

    fn exchange(&self, at: Option<usize>, size: usize, note: impl FnOnce(&mut RecordedExchange)) {
        let Some(at) = at else { return };
        let line = self.0.lock().noted.http.get(at).map(|exchange| exchange.line.clone()).unwrap_or_default();
        self.add(size, || format!("the answer to `{line}`"), |noted| noted.http.get_mut(at).map(note));
    }

    pub(super) fn answered(&self, at: Option<usize>, status: u16, headers: HeaderMap) {
        let size = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.exchange(at, size, |exchange| exchange.answer = Some((status, headers, Vec::new())));
    }

    pub(super) fn body(&self, at: Option<usize>, piece: &[u8]) {
        self.exchange(at, piece.len(), |exchange| {
            if let Some((.., body)) = &mut exchange.answer {
                body.extend_from_slice(piece);
            }
        });
    }

    /// Marks a request that the host refused to send, and would refuse again in a replay.
    pub(super) fn refused(&self, at: Option<usize>) {
        self.exchange(at, 0, |exchange| exchange.is_refused = true);
    }
}

impl RecordedNotes {
    /// The answers of servers, in the order of the requests.
    pub(super) fn http_replies(&mut self) -> Vec<HttpReply> {
        let sent: Vec<_> = std::mem::take(&mut self.http).into_iter().filter(|exchange| !exchange.is_refused).collect();
        self.seen.sent = sent.iter().map(|exchange| exchange.line.clone()).collect();
        let mut left_out = BTreeSet::new();
        let reply = |RecordedExchange { line, answer, .. }: RecordedExchange| match answer {
            Some((status, headers, body)) => {
                left_out.extend(headers.keys().filter(|name| !is_recorded(name)).map(ToString::to_string));
                let found = credentials(&headers).map(|(name, value)| (name.to_string(), value.to_owned()));
                self.credentials.extend(found);
                Some(HttpReply::from_live(line, status, &headers, body))
            }
            None => {
                self.obstacles.insert(format!("nobody waited for the answer to `{line}`, so there is none to repeat"));
                None
            }
        };
        let replies = sent.into_iter().filter_map(reply).collect();
        if !left_out.is_empty() {
            let names: Vec<_> = left_out.into_iter().collect();
            self.hints.insert(format!("these headers of answers are not recorded: {}", names.join(", ")));
        }
        replies
    }

    /// The answers of the agent's tools, in the order of the calls.
    pub(super) fn tool_replies(&mut self) -> Vec<ToolReply> {
        let called = std::mem::take(&mut self.tools);
        called
            .into_iter()
            .filter_map(|(name, reply)| {
                if reply.is_none() && self.obstacles.is_empty() {
                    self.obstacles
                        .insert(format!("nobody waited for the tool `{name}`, so there is no answer to repeat"));
                }
                reply
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_answer_is_not_kept() {
        let notes = Notes::default();
        notes.chunk("first".into());
        let at = notes.sent("GET https://a.example/".into());
        notes.answered(at, 200, HeaderMap::new());
        for _ in 0..100 {
            notes.body(at, &[7; 100 << 10]);
        }
        notes.chunk("last".into());
        let noted = notes.take();
        let why: Vec<_> = noted.obstacles.iter().map(String::as_str).collect();
        let expected = "it is more than a transcript can hold, 4 MiB, with the answer to `GET https://a.example/`";
        assert_eq!(why, [expected]);
        assert!(noted.seen.chunks.is_empty() && noted.http.is_empty());
    }

    #[test]
    fn empty_pieces_count_too() {
        let notes = Notes::default();
        (0..=MAX_BYTES / ENTRY).for_each(|_| notes.chunk(String::new()));
        assert_eq!(notes.take().obstacles.len(), 1);
    }

    #[test]
    fn what_has_no_answer_is_an_obstacle() {
        let notes = Notes::default();
        notes.refused(notes.sent("GET https://denied.example/".into()));
        notes.sent("GET https://left.example/".into());
        notes.called("a.b".into(), "a.b {}".into());
        let mut noted = notes.take();
        assert!(noted.tool_replies().is_empty());
        assert!(noted.http_replies().is_empty());
        assert_eq!(noted.seen.sent, ["GET https://left.example/"]);
        let why: Vec<_> = noted.obstacles.into_iter().collect();
        assert!(why[0].contains("`GET https://left.example/`") && why[1].contains("`a.b`"), "{why:?}");
    }
}
