//! The agent's side of a connection: approves reverse calls, answers questions and receives events.

use crate::api::resume_point::ResumePoint;
use async_trait::async_trait;
use policy::Origin;
use runtime::imports::{Abilities, CheckedQuestion, ClientReply, Content, ProgressReport};
use serde_json::{Map, Value};

/// Where a question or a reverse call comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// The user's name for the server.
    pub server: String,
    /// The plugin that the server names, if any.
    pub plugin: Option<String>,
    /// The agent's open call that it belongs to. Groups calls for approval "once per task".
    pub task: String,
}

/// A reverse call that needs approval. Everything in it comes from the server, except `read_only` and `origin`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseCallRequest {
    pub requester: Requester,
    /// The agent's tool.
    pub name: String,
    /// Checked against the tool's schema.
    pub arguments: Map<String, Value>,
    pub purpose: Option<String>,
    /// Whether the tool's annotations say that it changes nothing.
    pub read_only: bool,
    /// Whose tool it is, and so who states `read_only`.
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReverseCallDecision {
    Allow,
    /// The call runs with these arguments instead.
    Edit(Map<String, Value>),
    /// The call is refused, with a reason for the server.
    Deny(String),
}

/// An event of a running call.
#[derive(Debug, Clone, PartialEq)]
pub enum UpstreamCallEvent {
    Chunk {
        /// Counted from 0.
        seq: u64,
        content: Vec<Content>,
        /// The nested calls that the chunk comes from, outermost first; empty for the call's own chunks.
        origin: Vec<String>,
    },
    Progress(ProgressReport),
    /// A log message.
    Log(String),
    /// The server's ID for the call. Sent once, as soon as it is known.
    CallId(String),
    /// The status text of a task, in one line.
    Status(String),
    /// From now on another process can continue the call from here; none means that no process can.
    Resumable(Option<ResumePoint>),
}

/// What has changed at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed<'a> {
    /// A list, by the kind of what it lists: `tools`, `resources` or `prompts`.
    List(&'static str),
    /// A watched resource, by its URI.
    Resource(&'a str),
}

#[async_trait]
pub trait AgentHandler: Send + Sync {
    /// The kinds of questions that it can answer. Declared to servers.
    fn abilities(&self) -> Abilities;
    /// Decides whether a reverse call may run. May take any time; the future is dropped when the server stops waiting.
    async fn approve(&self, request: &ReverseCallRequest) -> ReverseCallDecision;
    /// Answers a question of a server.
    async fn answer(&self, requester: &Requester, question: &CheckedQuestion) -> ClientReply;
    /// Receives an event of a running call. Must not block: drop events when too slow.
    fn on_call_event(&self, task: &str, event: UpstreamCallEvent);
    /// The server reports that something has changed.
    fn on_changed(&self, _server: &str, _what: Changed<'_>) {}
    /// Whether the server's resources and prompts are passed on, so that they are listed.
    fn passes_on_items(&self) -> bool {
        false
    }
}
