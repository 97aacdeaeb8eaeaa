//! What is stored of a key.

use platform::clock::MachineTime;
use rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};

/// How records are written. One that another version of the host has written otherwise is refused, and not run again.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyRecord {
    pub(super) format: u32,
    pub(super) principal: String,
    /// Digest of the tool and its arguments.
    pub(super) call: String,
    /// The id that the call's task has, if it becomes one. It is known before, so that no end of the process comes between the
    /// task and this record.
    pub(super) task: String,
    /// Milliseconds since 1970.
    pub(super) expires: u64,
    /// The moment of the last change, as the process dates it that has made it; none if an earlier version has.
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
        /// Whether the call may have done something. Earlier versions do not say.
        #[serde(default = "may_have")]
        has_begun: bool,
    },
    /// The call waits for answers; `token` resumes it, and `result` asks for them.
    Parked { token: String, result: JsonObject },
    /// The call goes on, or has ended, as its task.
    Task,
    /// The result of the tool, also if the tool failed.
    Done { result: JsonObject },
    /// An error of the protocol.
    Failed { error: JsonObject },
}

/// A process that runs calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallProcess {
    /// Its place among those that use the store, which a later one may have.
    pub(super) holder: String,
    /// Random; no other process has it.
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

    /// Its times are as whoever says `now` dates them: the wall clock may have been set between the starts of two processes. None
    /// for what this version cannot read.
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
    /// Which keys make room first: those whose calls have ended, then those that wait or are tasks, and none that runs.
    pub(super) fn gives_way(&self) -> Option<GivesWay> {
        match self {
            Self::Running { .. } => None,
            Self::Done { .. } | Self::Failed { .. } => Some(GivesWay::First),
            Self::Parked { .. } | Self::Task => Some(GivesWay::Later),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GivesWay {
    First,
    Later,
}
