//! The call of a task, and what is stored about it so that another process can make it again.

use crate::calls::live::LiveCall;
use crate::client::chunk_record::ChunkRecord;
use crate::client_tools::{ToolDeclaration, stored};
use crate::tasks::records::record::TaskRecord;
use futures::future::BoxFuture;
use plugins::calls::FinishedCall;
use policy::{Principal, Survive};
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use runtime::engine::CallError;
use runtime::imports::{Abilities, SteeringMessage};
use runtime::journal::CallJournal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The call that a task begins with. It does not change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCall {
    /// The name that the client called.
    pub(crate) tool: String,
    /// The version of the plugin. With another one, the call cannot go on where it was.
    pub(crate) version: String,
    /// JSON text.
    pub(crate) arguments: String,
    /// What the call may ask its client for.
    pub(crate) abilities: Abilities,
    /// The tools that its client lets it call. Missing in tasks of earlier versions.
    #[serde(default, with = "stored")]
    pub(crate) declaration: Option<Arc<ToolDeclaration>>,
    /// Whether its client is shown how to get more authority.
    pub(crate) shows_remedies: bool,
    /// The idempotency key, as the guest sees it. Missing in tasks of earlier versions.
    #[serde(default)]
    pub(crate) idempotency_key: Option<String>,
    /// Which failures its steps survive, if the configuration of its plugin says so.
    #[serde(default)]
    pub(crate) survive: Option<Survive>,
}

/// What is stored of a task whose call is made again.
pub(crate) struct EarlierRun {
    pub(crate) record: TaskRecord,
    pub(crate) call: TaskCall,
    /// The steps of earlier runs.
    pub(crate) journal: CallJournal,
    /// Output of earlier runs that was sent to nobody, in the form that [`CallMaker::output`] returns.
    pub(crate) output: Option<String>,
}

/// Makes the calls of stored tasks again. Requests know how, and tasks do not.
pub(crate) trait CallMaker: Send + Sync {
    fn make(&self, earlier: EarlierRun) -> BoxFuture<'static, MadeCall>;
    /// Records the end of a task's call that will not be made again.
    fn record_end(&self, task: &TaskRecord);
    /// Drops the record of what the call of a task has paid for: the call is either never made again, or pays for that once
    /// more.
    fn forget(&self, task: &TaskRecord);
    /// Sends a message to the call of a task that runs here. The error is a sentence.
    fn steer(&self, task: &TaskRecord, message: SteeringMessage) -> Result<(), String>;
    /// Puts back a message that an earlier run of a task's call has not read. The error is a sentence.
    fn put_back(&self, task: &TaskRecord, message: SteeringMessage) -> Result<(), String>;
    /// The output of this call that was sent to nobody so far, as its log shows it, and the number of the next chunk. None if
    /// there are not more than `known` chunks.
    fn output(&self, owner: &Principal, call: &str, known: u64) -> Option<(u64, String)>;
}

pub(crate) type MadeCall = Result<(LiveCall, Finish), NotMade>;

/// Why a call cannot be made again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotMade {
    /// It may be possible later; the text says what is missing.
    #[error("{0}")]
    NotYet(String),
    #[error("{0}")]
    Never(String),
}

/// Makes the result of a call that has ended.
pub(crate) type Finish = Box<dyn FnOnce(FinishedCall, ChunkRecord) -> BoxFuture<'static, EndedCall> + Send>;

/// How the call of a task ended.
pub(crate) struct EndedCall {
    /// What the request would have been answered with, had it waited for the call.
    pub(crate) answer: Result<JsonObject, ErrorData>,
    pub(crate) usage: Option<Value>,
}

impl EndedCall {
    pub(in crate::tasks) fn failed(error: &CallError) -> Self {
        Self { answer: Err(ErrorData::internal_error(error.to_string(), None)), usage: None }
    }
}
