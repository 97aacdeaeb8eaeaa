//! The fake host's state, one per thread, and its simpler functions.

pub(crate) mod agent_tools;
pub(crate) mod checkpoint;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod http;
pub(crate) mod published;
pub(crate) mod values;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use agent_tools::{AgentCall, AgentTool};
use checkpoint::Checkpoints;
use client::Client;
use connections::Accounts;
use http::Servers;
use published::Published;
use values::Values;

use crate::bindings::portcullis::plugin::log::Level;
use crate::host_types::output::OutputError;
use crate::host_types::steering::Received;
use crate::{Budget, Content, Denial, Exhaustion};

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// The total amount.
    pub total: Option<f64>,
    /// A text about the current step.
    pub message: Option<String>,
}

/// One log record.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// Its severity.
    pub level: Level,
    /// Its text.
    pub message: String,
}

pub(super) struct State {
    pub(super) chunks: Vec<Vec<Content>>,
    pub(super) progress: Vec<Progress>,
    pub(super) log: Vec<LogRecord>,
    pub(super) agent_calls: Vec<AgentCall>,
    pub(super) agent_tools: BTreeMap<String, AgentTool>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) checkpoints: Checkpoints,
    pub(super) client: Client,
    pub(super) connections: Accounts,
    pub(super) http: Servers,
    pub(super) published: Published,
    pub(super) values: Values,
    /// The configuration names of grants.
    pub(super) denied: Vec<String>,
    pub(super) fuel: Option<u64>,
    pub(super) deadline_ms: u64,
    pub(super) chunk_limit: u64,
    pub(super) closed: bool,
    pub(super) steering: VecDeque<String>,
    pub(super) steering_ended: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            progress: Vec::new(),
            log: Vec::new(),
            agent_calls: Vec::new(),
            agent_tools: BTreeMap::new(),
            folders: Vec::new(),
            checkpoints: Checkpoints::default(),
            client: Client::default(),
            connections: Accounts::default(),
            http: Servers::default(),
            published: Published::default(),
            values: Values::default(),
            denied: Vec::new(),
            fuel: Some(1_000_000_000),
            deadline_ms: 30_000,
            chunk_limit: 10_000,
            closed: false,
            steering: VecDeque::new(),
            steering_ended: false,
        }
    }
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

pub(super) fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(act)
}

/// Whether a test refuses this capability.
pub(super) fn denial(state: &State, capability: &str, target: &str) -> Option<Denial> {
    state.denied.iter().any(|denied| denied == capability).then(|| refusal(capability, target))
}

/// A refusal with the host's text.
pub(super) fn refusal(capability: &str, target: &str) -> Denial {
    let remedy = "Ask the user, who alone can allow it".to_owned();
    Denial { capability: capability.to_owned(), target: target.to_owned(), remedy }
}

pub(crate) fn emit(content: Vec<Content>) -> Result<u64, OutputError> {
    with(|state| {
        let seq = state.chunks.len() as u64;
        let priority = |content: &Content| content.annotations.as_ref().and_then(|annotations| annotations.priority);
        if state.closed {
            Err(OutputError::Closed)
        } else if seq >= state.chunk_limit {
            Err(OutputError::Exhausted(Exhaustion { budget: Budget::Chunks, limit: state.chunk_limit }))
        } else if content.iter().filter_map(priority).any(|priority| !(0.0..=1.0).contains(&priority)) {
            Err(OutputError::Invalid("priority is outside 0.0 to 1.0".into()))
        } else {
            state.chunks.push(content);
            Ok(seq)
        }
    })
}

pub(crate) fn progress(done: f64, total: Option<f64>, message: Option<String>) {
    with(|state| {
        let grows = state.progress.last().is_none_or(|last| done > last.done);
        if done.is_finite() && grows {
            state.progress.push(Progress { done, total, message });
        }
    });
}

pub(crate) fn log(level: Level, message: String) {
    with(|state| state.log.push(LogRecord { level, message }));
}

pub(crate) fn fuel_left() -> Option<u64> {
    with(|state| state.fuel)
}

pub(crate) fn deadline_left() -> u64 {
    with(|state| state.deadline_ms)
}

pub(crate) fn folders() -> Vec<PathBuf> {
    with(|state| state.folders.clone())
}

pub(crate) fn steered() -> Option<String> {
    with(|state| state.steering.pop_front())
}

pub(crate) fn received(timeout: Option<Duration>) -> Received {
    with(|state| match (state.steering.pop_front(), timeout) {
        (Some(message), _) => Received::Message(message),
        // Nobody could send one while the test waits.
        (None, Some(_)) if !state.steering_ended => Received::TimedOut,
        (None, _) => Received::Ended,
    })
}
