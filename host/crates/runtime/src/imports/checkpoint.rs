//! `checkpoint`: what a guest saves of its call, so that a later run of it goes on from there and not from the beginning.

use super::call_imports::CallImports;
use super::client::ClientUsage;
use super::import_span::ErrorName;
use crate::journal::Checkpoint;
use policy::{BudgetUsage, LineageUsage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of what is saved. Each save writes it to the disk, and the host keeps the last one in memory: without a limit, a
/// guest makes of it a store that counts for nobody. Half of what the journal of a call that is not a task yet may have.
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
    is_opened: bool,
    state: Option<Vec<u8>>,
}

impl LastCheckpoint {
    pub(super) fn size(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.len() as u64)
    }
}

/// What a guest is told of the last checkpoint.
pub struct Restored {
    pub state: Option<Vec<u8>>,
    /// What the engine had counted when it was saved, if this run begins there.
    pub metered: Option<BudgetUsage>,
}

/// All that a call had used when it saved, and that a run which begins there has not. Without it, a guest would get its
/// limits anew by saving, and clients and callers would not pay for what came before.
#[derive(Serialize, Deserialize)]
struct CallUsed {
    metered: BudgetUsage,
    tree: LineageUsage,
    chunks: u64,
    output: u64,
    progress: Option<f64>,
    denials: u64,
    client: ClientUsage,
    /// How often each tool of the agent's side was called.
    tools: BTreeMap<String, u64>,
    lacked_tools: bool,
}

impl CallImports {
    /// What was saved last, by this run of the call or an earlier one.
    pub async fn restored(&mut self) -> Restored {
        if !self.checkpoint.is_opened {
            self.checkpoint.is_opened = true;
            if let Some(Checkpoint { state, used }) = self.journal.restored().await {
                self.checkpoint.state = Some(state.clone());
                let metered = Some(self.catch_up(used));
                return Restored { state: Some(state), metered };
            }
        }
        Restored { state: self.checkpoint.state.clone(), metered: None }
    }

    /// Saves. `metered` is what the engine has counted up to now.
    pub async fn save(&mut self, state: Vec<u8>, metered: BudgetUsage) -> Result<(), CheckpointError> {
        if !self.checkpoint.is_opened {
            return Err(CheckpointError::NotOpened);
        }
        if state.len() as u64 > MAX_CHECKPOINT {
            return Err(CheckpointError::TooLarge(MAX_CHECKPOINT));
        }
        let used = self.used(metered);
        self.journal.save(Checkpoint { state: state.clone(), used }).await;
        self.checkpoint.state = Some(state);
        Ok(())
    }

    fn used(&self, metered: BudgetUsage) -> CallUsed {
        CallUsed {
            metered,
            tree: self.scope.lineage.usage(),
            chunks: self.chunks(),
            output: self.bytes_with_result(0).unwrap_or_else(|(used, _)| used),
            progress: self.progress.last(),
            denials: self.scope.audit().denials(),
            client: self.client_usage(),
            tools: self.agent_tools.called(),
            lacked_tools: self.agent_tools.lacked(),
        }
    }

    /// Counts what an earlier run had used. Returns what the engine has to count.
    fn catch_up(&mut self, used: CallUsed) -> BudgetUsage {
        let CallUsed { metered, tree, chunks, output, progress, denials, client, tools, lacked_tools } = used;
        self.scope.lineage.catch_up(&tree);
        self.output().advance(chunks, output);
        self.progress.catch_up(progress);
        self.scope.audit().catch_up(denials);
        self.client().catch_up(client);
        self.agent_tools.catch_up(tools, lacked_tools);
        metered
    }
}
