//! What became of a call's chunks: counted and hashed as they go out, or written to a log where the client takes none.
//!
//! The hash is that of `wit/extensions/partial-results.md`: over what each piece says, not over how JSON writes it, so
//! that a client can check it with what its library left of the message.

use super::content::blocks;
use async_trait::async_trait;
use data_encoding::HEXLOWER;
use policy::Principal;
use runtime::imports::{CallSink, Chunk, Content, ContentData, OutputError, Report, ResourceBody};
use serde_json::{Value, json};
use services::shelf::{Run, RunLog, Shelf};
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

/// The record of one call. Clones are the same; when the last is gone, the log is final.
#[derive(Clone)]
pub(super) struct Record {
    call: Arc<str>,
    state: Arc<Mutex<State>>,
}

struct State {
    /// Chunks that the tool gave.
    given: u64,
    /// Chunks that went out.
    sent: u64,
    hash: Sha256,
    log: Log,
}

/// The log of a call, made when there is a first chunk for it.
enum Log {
    None,
    Possible(Arc<Shelf>, Principal, Run),
    Open(RunLog),
}

impl Record {
    /// Of a call whose chunks are logged on a shelf where nobody takes them.
    pub(super) fn logged(shelf: Arc<Shelf>, owner: Principal, run: Run) -> Self {
        let call = run.source.call.as_str().into();
        let state = State { given: 0, sent: 0, hash: Sha256::new(), log: Log::Possible(shelf, owner, run) };
        Self { call, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call's id.
    pub(super) fn call(&self) -> &Arc<str> {
        &self.call
    }

    /// A chunk goes out.
    pub(super) fn sent(&self, seq: u64, content: &[Content]) {
        let mut state = self.state();
        state.given = seq + 1;
        state.sent += 1;
        state.hash.update(format!("chunk {seq} {}\n", content.len()));
        for piece in content {
            let (kind, said) = said(&piece.data);
            state.hash.update(format!("{kind} {}\n", said.len()));
            state.hash.update(said);
        }
    }

    /// A chunk that the client does not take.
    pub(super) fn log(&self, seq: u64, chunk: Chunk) {
        self.sent(seq, &chunk.content);
        let mut state = self.state();
        if let Log::Possible(shelf, owner, run) = &state.log {
            state.log = shelf.begin_run(owner, run.clone()).map_or(Log::None, Log::Open);
        }
        if let Log::Open(log) = &state.log {
            let content = serde_json::to_string(&blocks(chunk.content)).unwrap_or_default();
            log.append(seq, content, chunk.origin);
        }
    }

    /// How many chunks the tool gave, as far as is known here.
    pub(super) fn given(&self) -> u64 {
        self.state().given
    }

    /// For the result; none when there was no chunk.
    pub(super) fn summary(&self) -> Option<Value> {
        let state = self.state();
        if state.given == 0 {
            return None;
        }
        let sha256 = HEXLOWER.encode(&state.hash.clone().finalize());
        let mut summary = json!({ "chunks": state.given, "dropped": state.given - state.sent, "sha256": sha256 });
        if let Log::Open(log) = &state.log {
            summary["log"] = log.uri().into();
        }
        Some(summary)
    }
}

/// Where nobody reads anything before the result.
#[async_trait]
impl CallSink for Record {
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        self.log(seq, chunk);
        Ok(())
    }

    fn progress(&self, _report: Report) {}
}

/// A piece's type as the protocol calls it, and what it says.
fn said(data: &ContentData) -> (&'static str, &[u8]) {
    match data {
        ContentData::Text(text) => ("text", text.as_bytes()),
        ContentData::Image(blob) => ("image", &blob.data),
        ContentData::Audio(blob) => ("audio", &blob.data),
        ContentData::ResourceLink(link) => ("resource_link", link.uri.as_bytes()),
        ContentData::Resource(resource) => match &resource.body {
            ResourceBody::Text(text) => ("resource", text.as_bytes()),
            ResourceBody::Blob(bytes) => ("resource", bytes),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::changes::Changes;
    use platform::clock::SystemClock;
    use policy::{PluginId, Side};
    use runtime::imports::{CallContext, Provenance};

    fn record() -> (Record, Arc<Shelf>, Principal) {
        let shelf = Arc::new(Shelf::new(Arc::new(SystemClock), Changes::new()));
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let call = CallContext::new("local");
        let run = Run { source: Provenance::of(&plugin, &call), tool: "p__t".into() };
        (Record::logged(shelf.clone(), call.principal.clone(), run), shelf, call.principal)
    }

    #[test]
    fn the_hash_is_that_of_the_document() {
        let (record, ..) = record();
        assert_eq!(record.summary(), None);
        record.sent(0, &[Content::text("hello")]);
        let summary = record.summary().unwrap();
        let document = include_str!("../../../../wit/extensions/partial-results.md");
        assert!(document.contains(summary["sha256"].as_str().unwrap()), "{summary}");
        // Those between are missing.
        record.sent(3, &[Content::text("")]);
        let summary = record.summary().unwrap();
        assert_eq!((&summary["chunks"], &summary["dropped"], &summary["log"]), (&json!(4), &json!(2), &Value::Null));
    }

    #[tokio::test]
    async fn a_log_begins_with_the_first_chunk_and_ends_with_the_call() {
        let (record, shelf, owner) = record();
        assert_eq!(shelf.list_resources(&owner).len(), 1, "only the inbox");
        let content = vec![Content::text("hello")];
        record.clone().chunk(0, Chunk { content: content.clone(), origin: vec![] }).await.unwrap();
        record.clone().chunk(1, Chunk { content, origin: vec!["a.b".into(), "c.d".into()] }).await.unwrap();
        let summary = record.summary().unwrap();
        let uri = summary["log"].as_str().unwrap();
        let read = || match shelf.read(&owner, uri).unwrap().body {
            ResourceBody::Text(text) => serde_json::from_str::<Value>(&text).unwrap(),
            ResourceBody::Blob(_) => panic!("a log is text"),
        };
        let content = json!([{"type": "text", "text": "hello"}]);
        let passed_on = json!({"dev.portcullis/origin": ["a.b", "c.d"]});
        let expected =
            [json!({"seq": 0, "content": content}), json!({"seq": 1, "content": content, "_meta": passed_on})];
        assert_eq!(read()["chunks"], json!(expected));
        assert_eq!(read()["final"], false);
        drop(record);
        assert_eq!(read()["final"], true);
    }
}
