//! The fake host as tests see it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::agent_tools::answer;
use super::state::agent_tools::AgentCall;
use super::state::{self, LogRecord, Progress};
use crate::host_types::agent_tools::AgentError;
use crate::{Content, Plugin, ToolError, ToolResult};

/// A host that records what tools send and answers what they ask, on this thread until it is dropped.
///
/// By default: 1,000,000,000 fuel and 30 s left, at most 10,000 chunks; no folder, agent tool or account granted; a client
/// that answers no questions; published resources, prompts and events are taken and recorded.
/// Have one at a time in each test.
#[derive(Debug)]
pub struct Host {
    /// The state belongs to the thread, so the handle must not leave it.
    on_this_thread: PhantomData<*const ()>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host with the defaults; forgets what an earlier one on this thread recorded.
    pub fn new() -> Self {
        state::with(|state| *state = state::State::default());
        Self { on_this_thread: PhantomData }
    }

    /// Grants a folder. Natively it is a real folder, read and written with the test's own rights.
    #[must_use]
    pub fn folder(self, path: impl Into<PathBuf>) -> Self {
        state::with(|state| state.folders.push(path.into()));
        self
    }

    /// Grants an agent tool, `<agent plugin>.<tool>`, answered by a closure.
    ///
    /// An answer that is a JSON object becomes structured content, and every answer becomes text.
    #[must_use]
    pub fn agent_tool<T: Serialize>(
        self,
        name: &str,
        mut tool: impl FnMut(Value) -> Result<T, AgentError> + 'static,
    ) -> Self {
        self.raw_agent_tool(name, move |arguments| {
            let value =
                serde_json::to_value(tool(arguments)?).map_err(|error| AgentError::Failed(error.to_string()))?;
            Ok(answer(&value))
        })
    }

    /// As [`Host::agent_tool`], for answers with content of other kinds or with `is_error`.
    #[must_use]
    pub fn raw_agent_tool(
        self,
        name: &str,
        tool: impl FnMut(Value) -> Result<ToolResult, AgentError> + 'static,
    ) -> Self {
        state::with(|state| state.agent_tools.insert(name.to_owned(), Rc::new(RefCell::new(tool))));
        self
    }

    /// Refuses an agent tool, as without a grant.
    #[must_use]
    pub fn deny_agent_tool(self, name: &str) -> Self {
        let denial = state::refusal("agent-tools", name);
        self.raw_agent_tool(name, move |_| Err(AgentError::Denied(denial.clone())))
    }

    /// Sets the fuel that is left; `None` as when CPU time is metered.
    #[must_use]
    pub fn fuel(self, left: Option<u64>) -> Self {
        state::with(|state| state.fuel = left);
        self
    }

    /// Sets the time that is left.
    #[must_use]
    pub fn deadline(self, left: Duration) -> Self {
        state::with(|state| state.deadline_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Refuses chunks beyond this number, as a used-up budget does.
    #[must_use]
    pub fn chunk_limit(self, chunks: u64) -> Self {
        state::with(|state| state.chunk_limit = chunks);
        self
    }

    /// Says something to the call that runs, or to the next one; a tool's closure may do it in the middle of a call.
    pub fn steer(&self, message: impl Into<String>) {
        state::with(|state| state.steering.push_back(message.into()));
    }

    /// Closes the output, as when the client cancels the call.
    pub fn close_output(&self) {
        state::with(|state| state.closed = true);
    }

    /// Calls a tool; see [`testing::call`](super::call).
    ///
    /// # Errors
    /// As there.
    pub fn call(&self, plugin: &Plugin, tool: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        super::call(plugin, tool, arguments)
    }

    /// The chunks sent so far.
    pub fn chunks(&self) -> Vec<Vec<Content>> {
        state::with(|state| state.chunks.clone())
    }

    /// The texts of the chunks sent so far.
    pub fn chunk_texts(&self) -> Vec<String> {
        self.chunks().into_iter().map(|content| ToolResult::from(content).all_text()).collect()
    }

    /// The progress reported so far, without reports that did not grow.
    pub fn progress(&self) -> Vec<Progress> {
        state::with(|state| state.progress.clone())
    }

    /// The log written so far.
    pub fn log(&self) -> Vec<LogRecord> {
        state::with(|state| state.log.clone())
    }

    /// The calls of agent tools made so far, also those that failed.
    pub fn agent_calls(&self) -> Vec<AgentCall> {
        state::with(|state| state.agent_calls.clone())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        state::with(|state| *state = state::State::default());
    }
}
