//! What the agent's model sees of running calls. The user sees all chunks; a policy for each server decides which of
//! them get into the transcript.

mod item;
mod script;
mod text;

pub use item::{ChunkPolicy, TranscriptItem};
pub use script::{AgentModel, ModelAction, ScriptError, ScriptedModel};
pub use text::content_text;

use platform::sync::Mutex;
use platform::text::truncate_with;
use runtime::imports::Content;
use std::collections::VecDeque;
use text::text_for_model;
use tokio::sync::Notify;

/// Length of one item's text, in bytes. Bounds how much one chunk or result can push out of a model's context.
const MAX_TEXT: usize = 64 << 10;
/// Unread items; the oldest are dropped. Bounds what a flood of calls makes the agent keep.
const MAX_ITEMS: usize = 1_024;
/// Length of one call's unread chunks, in bytes; the oldest are dropped.
const MAX_UNREAD_TEXT: usize = 64 << 10;
/// Length of the first and of the last chunk in a digest, in bytes.
const QUOTED: usize = 200;

/// Items that the agent's model has not read yet. Writers never wait.
#[derive(Default)]
pub struct Transcript {
    state: Mutex<TranscriptState>,
    more: Notify,
}

#[derive(Default)]
struct TranscriptState {
    items: VecDeque<TranscriptItem>,
    running: Vec<TranscriptCall>,
    dropped: u64,
}

struct TranscriptCall {
    call: u64,
    policy: ChunkPolicy,
    chunks: u64,
    bytes: u64,
    first: String,
    last: String,
    /// Chunks since the last step.
    unread: VecDeque<(u64, String)>,
}

impl Transcript {
    pub fn push_user_text(&self, text: &str) {
        self.change(|state| state.push(TranscriptItem::User(bounded(text))));
    }

    pub fn call_started(&self, call: u64, policy: ChunkPolicy, tool: &str, arguments: &str) {
        self.change(|state| {
            state.push(TranscriptItem::Call { call, tool: bounded(tool), arguments: bounded(arguments) });
            let (first, last) = (String::new(), String::new());
            state.running.push(TranscriptCall {
                call,
                policy,
                chunks: 0,
                bytes: 0,
                first,
                last,
                unread: VecDeque::new(),
            });
        });
    }

    /// Adds a chunk of a running call. Content for the user only is left out under every policy.
    pub fn call_chunk(&self, call: u64, seq: u64, content: &[Content]) {
        let Some(text) = text_for_model(content) else { return };
        self.change(|state| {
            let Some(running) = state.running.iter_mut().find(|running| running.call == call) else { return };
            running.chunks += 1;
            running.bytes += text.len() as u64;
            match running.policy {
                ChunkPolicy::UiOnly => {}
                ChunkPolicy::Digest => {
                    if running.first.is_empty() {
                        running.first = truncate_with(&text, QUOTED, "…");
                    }
                    running.last = truncate_with(&text, QUOTED, "…");
                }
                ChunkPolicy::Inject => {
                    running.unread.push_back((seq, bounded(&text)));
                    while running.unread.len() > 1
                        && running.unread.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_UNREAD_TEXT
                    {
                        running.unread.pop_front();
                    }
                }
            }
        });
    }

    /// Adds the result of a call.
    pub fn call_ended(&self, call: u64, content: &[Content], is_error: bool) {
        let text = bounded(&text_for_model(content).unwrap_or_default());
        self.change(|state| {
            if let Some(at) = state.running.iter().position(|running| running.call == call) {
                let mut running = state.running.remove(at);
                if let Some(item) = running.take_chunks() {
                    state.push(item);
                }
                if running.policy == ChunkPolicy::Digest && running.chunks > 0 {
                    state.push(running.digest());
                }
            }
            state.push(TranscriptItem::Result { call, text, is_error });
        });
    }

    /// Waits until there may be new items.
    pub async fn wait_for_items(&self) {
        self.more.notified().await;
    }

    /// Waits for new items and takes them.
    pub async fn next_items(&self) -> Vec<TranscriptItem> {
        loop {
            let more = self.more.notified();
            let items = self.take_items();
            if !items.is_empty() {
                return items;
            }
            more.await;
        }
    }

    /// Takes the new items, which may be none.
    pub fn take_items(&self) -> Vec<TranscriptItem> {
        let mut state = self.state.lock();
        let mut items: Vec<TranscriptItem> = state.items.drain(..).collect();
        items.extend(state.running.iter_mut().filter_map(TranscriptCall::take_chunks));
        items
    }

    /// The number of items that were dropped unread.
    pub fn dropped(&self) -> u64 {
        self.state.lock().dropped
    }

    fn change(&self, change: impl FnOnce(&mut TranscriptState)) {
        change(&mut self.state.lock());
        self.more.notify_one();
    }
}

impl TranscriptState {
    fn push(&mut self, item: TranscriptItem) {
        if self.items.len() >= MAX_ITEMS {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }
}

impl TranscriptCall {
    fn take_chunks(&mut self) -> Option<TranscriptItem> {
        let (first, last) = (self.unread.front()?.0, self.unread.back()?.0);
        let text: Vec<String> = self.unread.drain(..).map(|(_, text)| text).collect();
        Some(TranscriptItem::Chunks { call: self.call, chunks: (first, last), text: text.join("\n") })
    }

    fn digest(&self) -> TranscriptItem {
        let (chunks, bytes) = (self.chunks, self.bytes);
        let text = match chunks {
            1 => format!("1 chunk, {bytes} bytes: {}", self.first),
            _ => format!("{chunks} chunks, {bytes} bytes; first: {}; last: {}", self.first, self.last),
        };
        TranscriptItem::Digest { call: self.call, text }
    }
}

fn bounded(text: &str) -> String {
    truncate_with(text, MAX_TEXT, "…")
}

#[cfg(test)]
mod tests;
