//! The stored record of an idempotency key.

use platform::clock::MachineTime;
use rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};

/// The version of the record format. A call whose record has another format is refused, and not run again.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyRecord {
    pub(super) format: u32,
    pub(super) principal: String,
    /// Digest of the tool and its arguments.
    pub(super) call: String,
    /// The id of the call's task, if it becomes one. The id is chosen in advance, so that the process cannot end between
    /// storing the task and storing its id here.
    pub(super) task: String,
    /// Milliseconds since 1970.
    pub(super) expires: u64,
    /// The time of the last change, on the clock of the process that made it; none if an earlier version made it.
    #[serde(default)]
    pub(super) time: Option<MachineTime>,
    pub(super) state: KeyState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub(super) enum KeyState {
    /// This process runs the call.
    Running {
        owner: CallProcess,
        /// Whether the call may have done something. Missing in records of earlier versions.
        #[serde(default = "may_have")]
        has_begun: bool,
    },
    /// The call waits for answers; `token` resumes it, and `result` asks for them.
    Parked { token: String, result: JsonObject },
    /// The call goes on, or has ended, as its task.
    Task,
    /// The result of the tool, even if that result is an error of the tool.
    Done { result: JsonObject },
    /// An error of the protocol.
    Failed { error: JsonObject },
}

/// A process that runs calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallProcess {
    /// Its place among the processes that use the store, which a later process may take.
    pub(super) holder: String,
    /// A random text that no other process has.
    pub(super) process: String,
}

impl KeyRecord {
    pub(super) fn new(principal: String, call: String, task: String, expires: u64, owner: CallProcess) -> Self {
        let (time, state) = (None, KeyState::Running { owner, has_begun: false });
        Self { format: FORMAT, principal, call, task, expires, time, state }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Maps with text as keys can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Adjusts the times to the clock of `now`, because the wall clock may have been set between the starts of two processes.
    /// None if this version cannot read it.
    pub(super) fn from_bytes(bytes: &[u8], now: MachineTime) -> Option<Self> {
        let read = serde_json::from_slice::<Self>(bytes).ok().filter(|record| record.format == FORMAT)?;
        let moved = read.time.map_or(0, |then| now.offset_from(then));
        Some(Self { expires: read.expires.saturating_add_signed(moved), time: Some(now), ..read })
    }
}

fn may_have() -> bool {
    true
}

impl KeyState {
    /// Which keys are removed first to make room: those whose calls have ended, then those that wait or are tasks. None for a
    /// call that runs.
    pub(super) fn eviction_order(&self) -> Option<EvictionOrder> {
        match self {
            Self::Running { .. } => None,
            Self::Done { .. } | Self::Failed { .. } => Some(EvictionOrder::First),
            Self::Parked { .. } | Self::Task => Some(EvictionOrder::Later),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionOrder {
    First,
    Later,
}
