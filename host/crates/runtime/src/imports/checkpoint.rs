//! `checkpoint`: the state that a guest saves, so that a later run of the call continues from there and not from the beginning.

use super::client::ClientUsage;
use super::import_span::ErrorName;
use super::steering::MessagesRead;
use policy::{BudgetUsage, LineageUsage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest state that a guest may save, in bytes. Each save writes it to the disk, and the host keeps the last one in memory:
/// without a limit, a guest could use checkpoints as a store that no quota counts. It is half of what the journal of a call may
/// hold while the call is not yet a task.
pub const MAX_CHECKPOINT: u64 = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointError {
    /// The guest has not asked for what was saved before.
    NotOpened,
    /// With the limit in bytes.
    TooLarge(u64),
}

impl ErrorName for CheckpointError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::NotOpened => "not-opened",
            Self::TooLarge(_) => "too-large",
        }
    }
}

/// The last checkpoint of a call.
#[derive(Default)]
pub(super) struct LastCheckpoint {
    pub(super) is_opened: bool,
    pub(super) state: Option<Vec<u8>>,
    /// Number of chunks that the call had sent when it saved.
    pub(super) chunks: u64,
}

impl LastCheckpoint {
    pub(super) fn size(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.len() as u64)
    }
}

/// What a guest gets back of the last checkpoint.
pub struct Restored {
    pub state: Option<Vec<u8>>,
    /// What the engine had counted when the checkpoint was saved, if this run begins there.
    pub metered: Option<BudgetUsage>,
}

/// Everything that a call had used when it saved. A run that begins at the checkpoint has not used it itself, but has to count
/// it: otherwise a guest would get fresh limits by saving, and clients and callers would not be charged for what came before.
#[derive(Serialize, Deserialize)]
pub(super) struct CallUsed {
    pub(super) metered: BudgetUsage,
    pub(super) tree: LineageUsage,
    pub(super) chunks: u64,
    pub(super) output: u64,
    pub(super) progress: Option<f64>,
    pub(super) denials: u64,
    pub(super) client: ClientUsage,
    /// How often each tool of the agent's side was called.
    pub(super) tools: BTreeMap<String, u64>,
    pub(super) lacked_tools: bool,
    pub(super) messages: MessagesRead,
    /// What the sink of its chunks had counted. Missing in checkpoints of earlier versions.
    #[serde(default)]
    pub(super) counted: Option<Vec<u8>>,
}
