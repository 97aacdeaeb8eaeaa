//! The chunks of one call: counted and hashed as they are sent, or written to a run log if the client reads no chunks.
//!
//! The hash is defined in `wit/extensions/partial-results.md`. It covers the data of each piece and not its JSON, so that a
//! client can check it with the parts of the message that its library has kept.

use async_trait::async_trait;
use bytesize::ByteSize;
use data_encoding::HEXLOWER;
use platform::sync::Mutex;
use policy::{DataKey, PluginId, Principal, PrivateOrigins};
use protocol::content::to_blocks;
use runtime::engine::TaskOwner;
use runtime::imports::{
    CallContext, CallSink, Chunk, Content, ContentData, EarlierChunks, OutputError, ProgressReport, Provenance,
    ResourceBody, Role,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use services::principal_store::{PrincipalStore, Run, RunLog};
use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, MutexGuard};

/// Clones share the record. The run log is final when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct ChunkRecord(Arc<Chunks>);

struct Chunks {
    store: Arc<PrincipalStore>,
    owner: Principal,
    call: Arc<str>,
    correlation: Option<String>,
    plugin: PluginId,
    tool: Arc<str>,
    state: Mutex<ChunkState>,
}

/// Bytes of the newest text in the note of a failed call.
const MAX_NEWEST: usize = 400;

#[derive(Default)]
struct ChunkState {
    emitted: u64,
    sent: u64,
    hash: Sha256,
    /// The log of the chunks that the client does not read, from the first one on; none inside if the store has no room.
    log: Option<Option<RunLog>>,
    /// Bytes of the logged chunks.
    bytes: u64,
    /// The end of the last logged text that may be shown to a model.
    newest: String,
}

/// The state of a record, in the form in which it is kept with a checkpoint.
#[derive(Serialize, Deserialize)]
struct Counted {
    emitted: u64,
    sent: u64,
    /// The state of the hash, so that it can go on, in hexadecimal.
    hash: String,
    bytes: u64,
    newest: String,
}

impl ChunkRecord {
    /// `tool` is the name that the client called.
    pub(crate) fn new(store: Arc<PrincipalStore>, call: &CallContext, plugin: PluginId, tool: Arc<str>) -> Self {
        Self(Arc::new(Chunks {
            store,
            owner: call.principal.clone(),
            call: call.id.clone(),
            correlation: call.correlation_id.clone(),
            plugin,
            tool,
            state: Mutex::default(),
        }))
    }

    /// The sink for a call whose client reads nothing before the result.
    pub(crate) fn sink(&self) -> Arc<dyn CallSink> {
        self.0.clone()
    }

    fn state(&self) -> MutexGuard<'_, ChunkState> {
        self.0.state.lock()
    }

    pub(crate) fn call_id(&self) -> &Arc<str> {
        &self.0.call
    }

    /// The name that the client called.
    pub(crate) fn tool(&self) -> &str {
        &self.0.tool
    }

    pub(crate) fn correlation(&self) -> Option<&str> {
        self.0.correlation.as_deref()
    }

    /// The principal that the call runs for, and the plugin that it runs.
    pub(crate) fn owner(&self) -> TaskOwner {
        (self.0.owner.clone(), self.0.plugin.clone())
    }

    pub(crate) fn count_sent(&self, seq: u64, content: &[Content]) {
        self.state().count_sent(seq, content);
    }

    /// Starts the log with the output that was kept of an earlier run of the call.
    pub(crate) fn resume_log(&self, kept: &str) {
        let Chunks { store, owner, .. } = &*self.0;
        let log = store.resume_run(owner, self.0.run(), kept);
        self.state().log = Some(log);
    }

    /// Writes a chunk that the client does not read to the run log.
    pub(crate) fn log_chunk(&self, seq: u64, chunk: Chunk) {
        self.0.log_chunk(seq, chunk);
    }

    /// How many chunks the tool has emitted, as far as this record knows.
    pub(crate) fn emitted(&self) -> u64 {
        self.state().emitted
    }

    /// Tells a model what it has not seen of a failed call; none if there was no chunk, or if the client has read them all.
    pub(crate) fn note_of_failure(&self) -> Option<String> {
        let ChunkState { emitted, bytes, newest, log, .. } = &*self.state();
        let log = log.as_ref().filter(|_| *emitted > 0)?;
        let mut note = format!("Before that it gave {emitted} partial results ({}).", ByteSize(*bytes));
        if let Some(log) = log {
            note += &format!(" The resource {} keeps the newest.", log.uri());
        }
        if !newest.is_empty() {
            note += &format!(" The last: {newest}");
        }
        Some(note)
    }

    /// The summary for the result; none if there was no chunk.
    pub(crate) fn summary(&self) -> Option<Value> {
        let state = self.state();
        if state.emitted == 0 {
            return None;
        }
        let sha256 = HEXLOWER.encode(&state.hash.clone().finalize());
        let mut summary = json!({ "chunks": state.emitted, "dropped": state.emitted - state.sent, "sha256": sha256 });
        if let Some(Some(log)) = &state.log {
            summary["log"] = log.uri().into();
        }
        Some(summary)
    }
}

impl Counted {
    /// None for any value that [`ChunkState::counted`] has not made.
    fn restore(bytes: &[u8]) -> Option<ChunkState> {
        let Self { emitted, sent, hash, bytes, newest } = serde_json::from_slice(bytes).ok()?;
        let hash = HEXLOWER.decode(hash.as_bytes()).ok()?;
        let hash = Sha256::deserialize(hash.as_slice().try_into().ok()?).ok()?;
        Some(ChunkState { emitted, sent, hash, log: None, bytes, newest })
    }
}

impl ChunkState {
    fn counted(&self) -> Option<Vec<u8>> {
        let Self { emitted, sent, hash, bytes, newest, .. } = self;
        let hash = HEXLOWER.encode(&hash.serialize());
        let counted = Counted { emitted: *emitted, sent: *sent, hash, bytes: *bytes, newest: newest.clone() };
        serde_json::to_vec(&counted).ok()
    }

    /// Counts chunks that earlier runs of the call have sent.
    fn catch_up(&mut self, earlier: &EarlierChunks) {
        match earlier.counted.as_deref().and_then(Counted::restore) {
            Some(counted) => *self = Self { log: self.log.take(), ..counted },
            None => self.emitted += earlier.chunks,
        }
    }

    fn count_sent(&mut self, seq: u64, content: &[Content]) {
        self.emitted = seq + 1;
        self.sent += 1;
        self.hash.update(format!("chunk {seq} {}\n", content.len()));
        for piece in content {
            let (kind, data) = type_and_data(&piece.data);
            self.hash.update(format!("{kind} {}\n", data.len()));
            self.hash.update(data);
        }
    }
}

impl Chunks {
    fn run(&self) -> Run {
        let source = Provenance {
            plugin: self.plugin.cli_name(),
            call: self.call.to_string(),
            correlation_id: self.correlation.clone(),
            // No call reads a log, and a log ends with the process.
            data: DataKey::configured(&self.plugin),
            knows: PrivateOrigins::new(),
        };
        Run { source, tool: self.tool.to_string() }
    }

    fn log_chunk(&self, seq: u64, chunk: Chunk) {
        let mut state = self.state.lock();
        state.bytes += chunk.content.iter().map(Content::size).sum::<u64>();
        if let Some(text) = chunk.content.iter().rev().find_map(text_for_models) {
            state.newest = shown_end(text);
        }
        let begin = || self.store.begin_run(&self.owner, self.run());
        match state.log.get_or_insert_with(begin).is_some() {
            true => state.count_sent(seq, &chunk.content),
            false => state.emitted = seq + 1,
        }
        if let Some(Some(log)) = &state.log {
            let content = serde_json::to_string(&to_blocks(chunk.content)).unwrap_or_default();
            log.append(seq, content, chunk.origin);
        }
    }
}

/// The sink of a call whose client reads nothing before the result.
#[async_trait]
impl CallSink for Chunks {
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        self.log_chunk(seq, chunk);
        Ok(())
    }

    fn replayed_chunk(&self, seq: u64, chunk: Chunk) {
        self.log_chunk(seq, chunk);
    }

    fn counted(&self) -> Option<Vec<u8>> {
        self.state.lock().counted()
    }

    fn catch_up(&self, earlier: EarlierChunks) {
        self.state.lock().catch_up(&earlier);
    }

    fn progress(&self, _report: ProgressReport) {}
}

/// The text of a piece, unless it is for the user only.
fn text_for_models(piece: &Content) -> Option<&str> {
    let audience = piece.annotations.as_ref().map(|annotations| &*annotations.audience).unwrap_or_default();
    match &piece.data {
        ContentData::Text(text) if audience.is_empty() || audience.contains(&Role::Assistant) => Some(text),
        _ => None,
    }
}

/// The end of a text, with a mark if something was left out before.
fn shown_end(text: &str) -> String {
    match text.len().checked_sub(MAX_NEWEST) {
        None | Some(0) => text.to_owned(),
        Some(at) => format!("…{}", &text[text.ceil_char_boundary(at)..]),
    }
}

/// The type of a piece as the protocol names it, and the data that is hashed.
fn type_and_data(data: &ContentData) -> (&'static str, &[u8]) {
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
    use platform::changes::ChangeNotifier;
    use platform::clock::SystemClock;
    use policy::Side;

    fn record() -> (ChunkRecord, Arc<PrincipalStore>, Principal) {
        let principal_store = Arc::new(PrincipalStore::new(Arc::new(SystemClock), ChangeNotifier::new()));
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let call = CallContext::new("local");
        (ChunkRecord::new(principal_store.clone(), &call, plugin, "p__t".into()), principal_store, call.principal)
    }

    #[test]
    fn the_hash_matches_the_documented_example() {
        let (record, ..) = record();
        assert_eq!(record.summary(), None);
        record.count_sent(0, &[Content::text("hello")]);
        let summary = record.summary().unwrap();
        let document = include_str!("../../../../../wit/extensions/partial-results.md");
        assert!(document.contains(summary["sha256"].as_str().unwrap()), "{summary}");
        // Those between are missing.
        record.count_sent(3, &[Content::text("")]);
        let summary = record.summary().unwrap();
        assert_eq!((&summary["chunks"], &summary["dropped"], &summary["log"]), (&json!(4), &json!(2), &Value::Null));
    }

    #[test]
    fn a_later_run_counts_and_hashes_on() {
        let (whole, store, _) = record();
        let call = CallContext { id: whole.call_id().clone(), ..CallContext::new("local") };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let later = ChunkRecord::new(store, &call, plugin, "p__t".into());
        let chunk = |text: &str| Chunk { content: vec![Content::text(text)], origin: vec![] };
        whole.log_chunk(0, chunk("one"));
        let counted = whole.sink().counted();
        later.sink().catch_up(EarlierChunks { chunks: 1, bytes: 3, counted });
        for record in [&whole, &later] {
            record.log_chunk(1, chunk("two"));
        }
        assert_eq!(whole.summary(), later.summary());
        assert_eq!(whole.note_of_failure(), later.note_of_failure());
        // What somebody else has written counts nothing.
        later.sink().catch_up(EarlierChunks { chunks: 2, bytes: 3, counted: Some(b"{}".to_vec()) });
        assert_eq!((later.emitted(), &later.summary().unwrap()["dropped"]), (4, &json!(2)));
    }

    #[tokio::test]
    async fn the_first_chunk_creates_the_log_and_the_end_of_the_call_finishes_it() {
        let (record, principal_store, owner) = record();
        assert_eq!(principal_store.list_resources(&owner).len(), 1, "only the inbox");
        let content = vec![Content::text("hello")];
        record.sink().chunk(0, Chunk { content: content.clone(), origin: vec![] }).await.unwrap();
        record.sink().chunk(1, Chunk { content, origin: vec!["a.b".into(), "c.d".into()] }).await.unwrap();
        let summary = record.summary().unwrap();
        let uri = summary["log"].as_str().unwrap();
        let read = || match principal_store.read(&owner, uri).unwrap().body {
            ResourceBody::Text(text) => serde_json::from_str::<Value>(&text).unwrap(),
            ResourceBody::Blob(_) => panic!("a log is text"),
        };
        let content = json!([{"type": "text", "text": "hello"}]);
        let passed_on = json!({protocol::names::CHUNK_ORIGIN_META: ["a.b", "c.d"]});
        let expected =
            [json!({"seq": 0, "content": content}), json!({"seq": 1, "content": content, "_meta": passed_on})];
        assert_eq!(read()["chunks"], json!(expected));
        assert_eq!(read()["final"], false);
        drop(record);
        assert_eq!(read()["final"], true);
    }
}
