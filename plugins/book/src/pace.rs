//! When the next chapter may be begun.

use std::thread;
use std::time::Duration;

use portcullis_guest::agent_tools::{self, AgentError, CallOptions};
use portcullis_guest::{ToolError, log};
use serde_json::json;

/// A tool of the agent's that answers when its user has read on.
const TOOL: &str = "pace.next";

/// How long to wait, and for whom.
pub(crate) struct Pace {
    slow: Duration,
    /// Whether somebody on the agent's side sets the pace.
    set: bool,
}

impl Pace {
    /// At least so slow; slower if the agent has a tool for it that was granted.
    pub(crate) fn new(slow: Duration) -> Self {
        Self { slow, set: agent_tools::list().iter().any(|tool| tool.name == TOOL) }
    }

    /// Waits until this chapter may be begun. Whoever fails to set the pace costs the pace and nothing else.
    pub(crate) fn wait(&self, chapter: u32) -> Result<(), ToolError> {
        thread::sleep(self.slow);
        if !self.set {
            return Ok(());
        }
        let options = CallOptions {
            purpose: Some(format!("begin chapter {chapter} when you are ready")),
            ..CallOptions::default()
        };
        match agent_tools::call_raw(TOOL, &json!({ "chapter": chapter }), &options) {
            Ok(_) => Ok(()),
            Err(AgentError::Cancelled) => Err(ToolError::Cancelled),
            Err(error) => {
                log::info!("nobody sets the pace: {error}");
                Ok(())
            }
        }
    }
}
