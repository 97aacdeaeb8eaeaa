//! The point from which another process of the same client can continue a call that is open on a server.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Plain data that a client may store. What is in it comes from the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ResumePoint {
    /// The call is a task.
    Task {
        id: String,
        /// Calls of tools of this client that were begun for it, by their keys, and whose outcome its server may not have.
        #[serde(default)]
        begun: Vec<String>,
    },
    /// The call is parked until its questions are answered.
    Questions {
        /// The questions by their keys, as the server sent them.
        requests: Value,
        /// The server's `requestState`.
        state: Option<String>,
    },
    /// The call is parked until tools of this client have been called.
    ReverseCalls {
        /// The calls by their keys, as the server sent them.
        calls: Value,
        continuation: String,
    },
}

impl ResumePoint {
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Task { id, .. } => Some(id),
            Self::Questions { .. } | Self::ReverseCalls { .. } => None,
        }
    }
}
