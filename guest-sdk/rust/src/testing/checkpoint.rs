//! The fake host's checkpoints.

use serde_json::Value;

use super::host::Host;
use super::state::with;
use crate::host_types::checkpoint::CheckpointError;
use crate::{Plugin, ToolError, ToolResult};

/// Bytes of a checkpoint, the same number as in the real host.
const MOST: u64 = 256 << 10;

impl Host {
    /// Calls a tool again, as the host does in another process: it begins with what the last call has saved.
    ///
    /// # Errors
    /// As [`testing::call`](super::call).
    pub fn resume(&self, plugin: &Plugin, tool: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        with(|state| state.checkpoints.next = state.checkpoints.last.take());
        self.call(plugin, tool, arguments)
    }

    /// What the last call has saved, as JSON text.
    pub fn checkpoint(&self) -> Option<String> {
        with(|state| state.checkpoints.last.clone()).map(|state| String::from_utf8_lossy(&state).into_owned())
    }
}

pub(crate) fn restored() -> Option<Vec<u8>> {
    with(|state| {
        state.checkpoints.is_opened = true;
        state.checkpoints.last.clone()
    })
}

pub(crate) fn save_checkpoint(saved: &[u8]) -> Result<(), CheckpointError> {
    with(|state| {
        if !state.checkpoints.is_opened {
            return Err(CheckpointError::NotOpened);
        }
        if saved.len() as u64 > MOST {
            return Err(CheckpointError::TooLarge(MOST));
        }
        state.checkpoints.last = Some(saved.to_vec());
        Ok(())
    })
}
