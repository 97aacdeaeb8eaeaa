//! Who decides and answers on the agent's side: a person at a terminal, a file of rules, or, in a gateway, the client of
//! the call. Whatever a server wants of the agent passes through here.

use async_trait::async_trait;
use runtime::imports::{Abilities, Asked, Content, Reply, Report};
use serde_json::{Map, Value};

/// Who wants something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The server, as the user named it.
    pub server: String,
    /// Its plugin, as the server says; absent when it says nothing of the kind.
    pub plugin: Option<String>,
    /// The open call of the agent's that it belongs to: what "once per task" counts by.
    pub task: String,
}

/// A reverse call that waits for approval. Everything in it is the server's words, except `read_only`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// Who wants it.
    pub from: Asker,
    /// The agent's tool.
    pub name: String,
    /// They match the tool's schema.
    pub arguments: Map<String, Value>,
    /// Why.
    pub purpose: Option<String>,
    /// Whether the tool says of itself that it changes nothing.
    pub read_only: bool,
}

/// What is decided about a reverse call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run with these arguments instead.
    Edit(Map<String, Value>),
    /// It may not; a sentence for the server.
    Deny(String),
}

/// What a running call says meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A chunk, by its number, with the calls below that it comes from, outermost first.
    Chunk {
        /// Counted from 0.
        seq: u64,
        /// What it says.
        content: Vec<Content>,
        /// Empty for the call's own.
        origin: Vec<String>,
    },
    /// Progress.
    Progress(Report),
    /// A log message.
    Log(String),
    /// The id by which the server knows the call; said once, as soon as it is known.
    Named(String),
}

/// Decides and answers.
#[async_trait]
pub trait Face: Send + Sync {
    /// What can be asked of it; declared to servers.
    fn abilities(&self) -> Abilities;
    /// Whether a reverse call may run. Takes as long as it takes; dropped when nobody waits any more.
    async fn approve(&self, request: &ToolRequest) -> Verdict;
    /// Answers a question of a server.
    async fn answer(&self, from: &Asker, question: &Asked) -> Reply;
    /// A running call said something. Must not block: whoever is slow drops.
    fn heard(&self, task: &str, heard: Heard);
    /// Something that a server offers has changed, or one of its resources that is watched; a URI, or the kind of list.
    fn changed(&self, _server: &str, _what: &str) {}
}
