//! The public interface of the fake host.

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

/// A fake host for this thread: it records what tools send and answers their requests until it is dropped.
///
/// Defaults: 1,000,000,000 fuel and 30 s left, at most 10,000 chunks; no folder, agent tool or account granted; a
/// client that answers no questions; published resources, prompts and events are accepted and recorded. A test must
/// have only one at a time.
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
    /// Creates a host with the defaults; discards what an earlier one on this thread recorded.
    pub fn new() -> Self {
        state::with(|state| *state = state::State::default());
        Self { on_this_thread: PhantomData }
    }

    /// Grants a folder. In a native test it is a real folder, accessed with the test's own rights.
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

    /// As [`Host::agent_tool`], for answers with other kinds of content or with `is_error`.
    #[must_use]
    pub fn raw_agent_tool(
        self,
        name: &str,
        tool: impl FnMut(Value) -> Result<ToolResult, AgentError> + 'static,
    ) -> Self {
        state::with(|state| state.agent_tools.insert(name.to_owned(), Rc::new(RefCell::new(tool))));
        self
    }

    /// Refuses an agent tool, as if it were not granted.
    #[must_use]
    pub fn deny_agent_tool(self, name: &str) -> Self {
        let denial = state::refusal("agent-tools", name);
        self.raw_agent_tool(name, move |_| Err(AgentError::Denied(denial.clone())))
    }

    /// Sets the fuel that is left; `None` means that CPU time is metered instead.
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

    /// Refuses chunks beyond this number, as an exceeded budget does.
    #[must_use]
    pub fn chunk_limit(self, chunks: u64) -> Self {
        state::with(|state| state.chunk_limit = chunks);
        self
    }

    /// Sends a steering message to the running call, or to the next one; a tool's closure may do it in the middle of a
    /// call.
    pub fn steer(&self, message: impl Into<String>) {
        state::with(|state| state.steering.push_back(message.into()));
    }

    /// Says that no more messages come. Without that, a tool that waits without a timeout is told so, too.
    pub fn end_steering(&self) {
        state::with(|state| state.steering_ended = true);
    }

    /// Closes the output, as when the client cancels the call.
    pub fn close_output(&self) {
        state::with(|state| state.closed = true);
    }

    /// Calls a tool; see [`testing::call`](super::call).
    ///
    /// # Errors
    /// As [`testing::call`](super::call).
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

    /// The progress reported so far, without the dropped reports.
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
