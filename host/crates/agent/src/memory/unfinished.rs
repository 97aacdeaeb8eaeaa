//! A call that had not ended when it was stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use upstream::ResumePoint;

/// Size of one call's kept arguments, and of what is needed to go on with it, in bytes of JSON. Both bound the file, since a server
/// chooses how much it asks.
pub(super) const MAX_ARGUMENTS: usize = 64 << 10;
pub(super) const MAX_POINT: usize = 128 << 10;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnfinishedCall {
    /// Unique and random. The server repeats it in everything that belongs to the call.
    pub correlation_id: String,
    pub server: String,
    /// The origin of the server's URL or its program, without what may be a secret. The call is continued at this address only.
    #[serde(default)]
    pub address: String,
    pub tool: String,
    /// None when they were too large to keep.
    pub arguments: Option<Map<String, Value>>,
    /// The server's ID for the call.
    #[serde(default)]
    pub call: Option<String>,
    /// Tools that the user has allowed until this call ends.
    #[serde(default)]
    pub approved: Vec<String>,
    /// When it began, in seconds since 1970.
    #[serde(default)]
    pub began: u64,
    /// The point from which another run can continue it.
    #[serde(default)]
    pub point: Option<ResumePoint>,
    /// The run of the agent that the call belongs to; empty for none.
    #[serde(default)]
    pub run: String,
}

impl UnfinishedCall {
    /// Whether the server runs it as a task.
    pub fn is_task(&self) -> bool {
        self.point.as_ref().is_some_and(|point| point.task_id().is_some())
    }

    /// Drops what is too large to keep.
    pub(super) fn enforce_limits(&mut self) {
        let fits = |map: &Map<String, Value>| serde_json::to_string(map).is_ok_and(|text| text.len() <= MAX_ARGUMENTS);
        self.arguments = self.arguments.take().filter(fits);
        // A parked call is sent again with its arguments; the server of a task has them already.
        let is_whole = |point: &ResumePoint| self.arguments.is_some() || point.task_id().is_some();
        let fits = |point: &ResumePoint| serde_json::to_string(point).is_ok_and(|text| text.len() <= MAX_POINT);
        self.point = self.point.take().filter(|point| is_whole(point) && fits(point));
    }
}
