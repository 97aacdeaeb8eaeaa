//! What an agent's model comes to see of calls that run: chunks are shown to the person in any case, and get into the
//! transcript only as each server's policy says.

mod script;

pub use script::{Act, Model, ScriptError, ScriptedModel};

use runtime::imports::{Content, ContentData, ResourceBody, Role};
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Text of one item, in bytes. Bounds what one chunk or result can push out of a model's context.
const MAX_TEXT: usize = 64 << 10;
/// Items that wait to be read. Bounds what a flood of calls makes an agent hold that does not read.
const MAX_ITEMS: usize = 1_024;
/// Text of chunks that waits for the next step of one call, in bytes; the oldest goes first.
const MAX_INTERIM: usize = 64 << 10;
/// Beginning and end of what a digest quotes, in bytes each.
const QUOTED: usize = 200;

/// What a model comes to see of a server's chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkPolicy {
    /// Nothing: the result says it all. The default, since a chunk repeats what the result says or is superseded by it.
    #[default]
    UiOnly,
    /// One item at the end of the call: how much there was, how it began and ended.
    Digest,
    /// Each chunk at the next step, so that the model can steer or cancel while the call still runs.
    Inject,
}

/// One thing that a model is to know. What a server wrote is untrusted, here as anywhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// The user's words.
    User(String),
    /// A call began.
    Call {
        /// Its number.
        call: u64,
        /// `server.tool`.
        tool: String,
        /// JSON text.
        arguments: String,
    },
    /// What a call that still runs has said since the last step.
    Interim {
        /// Its number.
        call: u64,
        /// The first and the last chunk in it.
        chunks: (u64, u64),
        /// What they say.
        text: String,
    },
    /// What the chunks of a call said, in short.
    Digest {
        /// Its number.
        call: u64,
        /// In bounds.
        text: String,
    },
    /// A call ended.
    Result {
        /// Its number.
        call: u64,
        /// What it says.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// What a model is to know and has not read yet. Whoever tells it something never waits.
#[derive(Default)]
pub struct Transcript {
    state: Mutex<State>,
    more: Notify,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    running: Vec<Running>,
    dropped: u64,
}

struct Running {
    call: u64,
    policy: ChunkPolicy,
    chunks: u64,
    bytes: u64,
    first: String,
    last: String,
    /// Since the last step.
    interim: VecDeque<(u64, String)>,
}

impl Transcript {
    /// The user said something.
    pub fn said(&self, text: &str) {
        self.change(|state| state.push(Item::User(bounded(text))));
    }

    /// A call began.
    pub fn started(&self, call: u64, policy: ChunkPolicy, tool: &str, arguments: &str) {
        self.change(|state| {
            state.push(Item::Call { call, tool: bounded(tool), arguments: bounded(arguments) });
            let (first, last) = (String::new(), String::new());
            state.running.push(Running { call, policy, chunks: 0, bytes: 0, first, last, interim: VecDeque::new() });
        });
    }

    /// A running call said something. What is only for the user is not taken, whatever the policy.
    pub fn chunk(&self, call: u64, seq: u64, content: &[Content]) {
        let Some(text) = for_models(content) else { return };
        self.change(|state| {
            let Some(running) = state.running.iter_mut().find(|running| running.call == call) else { return };
            running.chunks += 1;
            running.bytes += text.len() as u64;
            match running.policy {
                ChunkPolicy::UiOnly => {}
                ChunkPolicy::Digest => {
                    if running.first.is_empty() {
                        running.first = cut(&text, QUOTED);
                    }
                    running.last = cut(&text, QUOTED);
                }
                ChunkPolicy::Inject => {
                    running.interim.push_back((seq, bounded(&text)));
                    while running.interim.len() > 1
                        && running.interim.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_INTERIM
                    {
                        running.interim.pop_front();
                    }
                }
            }
        });
    }

    /// A call ended; `content` is its result.
    pub fn ended(&self, call: u64, content: &[Content], is_error: bool) {
        let text = bounded(&for_models(content).unwrap_or_default());
        self.change(|state| {
            if let Some(at) = state.running.iter().position(|running| running.call == call) {
                let mut running = state.running.remove(at);
                if let Some(item) = running.interim() {
                    state.push(item);
                }
                if running.policy == ChunkPolicy::Digest && running.chunks > 0 {
                    state.push(running.digest());
                }
            }
            state.push(Item::Result { call, text, is_error });
        });
    }

    /// Waits until there may be something to read.
    pub async fn ready(&self) {
        self.more.notified().await;
    }

    /// Everything since the last step; waits until there is something. A step is where a model may act.
    pub async fn step(&self) -> Vec<Item> {
        loop {
            let more = self.more.notified();
            let items = self.take();
            if !items.is_empty() {
                return items;
            }
            more.await;
        }
    }

    /// Everything since the last step, which may be nothing.
    pub fn take(&self) -> Vec<Item> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut items: Vec<Item> = state.items.drain(..).collect();
        items.extend(state.running.iter_mut().filter_map(Running::interim));
        items
    }

    /// Items that nobody read in time.
    pub fn dropped(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.more.notify_one();
    }
}

impl State {
    fn push(&mut self, item: Item) {
        if self.items.len() >= MAX_ITEMS {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }
}

impl Running {
    fn interim(&mut self) -> Option<Item> {
        let (first, last) = (self.interim.front()?.0, self.interim.back()?.0);
        let text: Vec<String> = self.interim.drain(..).map(|(_, text)| text).collect();
        Some(Item::Interim { call: self.call, chunks: (first, last), text: text.join("\n") })
    }

    fn digest(&self) -> Item {
        let (chunks, bytes) = (self.chunks, self.bytes);
        let text = match chunks {
            1 => format!("1 chunk, {bytes} bytes: {}", self.first),
            _ => format!("{chunks} chunks, {bytes} bytes; first: {}; last: {}", self.first, self.last),
        };
        Item::Digest { call: self.call, text }
    }
}

/// What content says to a model; none when all of it is for the user alone.
fn for_models(content: &[Content]) -> Option<String> {
    let audience = |piece: &&Content| {
        let audience = piece.annotations.as_ref().map_or(&[][..], |hints| &hints.audience);
        audience.is_empty() || audience.contains(&Role::Assistant)
    };
    let pieces: Vec<String> = content.iter().filter(audience).map(words).collect();
    (!pieces.is_empty()).then(|| pieces.join("\n"))
}

/// One piece in words; what is no text by its kind and size.
pub fn words(content: &Content) -> String {
    match &content.data {
        ContentData::Text(text) => text.clone(),
        ContentData::Image(blob) | ContentData::Audio(blob) => {
            format!("[{}, {} bytes]", blob.mime_type, blob.data.len())
        }
        ContentData::ResourceLink(link) => format!("[{}]", link.uri),
        ContentData::Resource(resource) => match &resource.body {
            ResourceBody::Text(text) => format!("[{}]\n{text}", resource.uri),
            ResourceBody::Blob(bytes) => format!("[{}, {} bytes]", resource.uri, bytes.len()),
        },
    }
}

fn bounded(text: &str) -> String {
    cut(text, MAX_TEXT)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

#[cfg(test)]
mod tests;
