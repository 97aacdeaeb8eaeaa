//! What a run of the agent knows of one of its calls.

use super::render::ShownProgress;
use agent::UnfinishedCall;
use std::collections::VecDeque;
use tokio_util::sync::CancellationToken;
use upstream::ResumePoint;

/// Calls that are kept after they have ended.
pub(super) const MAX_ENDED: usize = 200;

pub(super) struct SessionCall {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) task: String,
    /// The server's ID for the call.
    pub(super) id: Option<String>,
    /// The point from which another run could continue the call.
    pub(super) point: Option<ResumePoint>,
    pub(super) cancel: CancellationToken,
    pub(super) watched: bool,
    pub(super) progress: ShownProgress,
    pub(super) output: VecDeque<String>,
    /// Whether the call failed, once it has ended.
    pub(super) ended: Option<bool>,
}

impl SessionCall {
    /// A call that has not begun, or that continues one of an earlier run.
    pub(super) fn new(open: &UnfinishedCall) -> Self {
        Self {
            server: open.server.clone(),
            tool: open.tool.clone(),
            task: open.correlation_id.clone(),
            id: open.call.clone(),
            point: open.point.clone(),
            cancel: CancellationToken::new(),
            watched: true,
            progress: ShownProgress::default(),
            output: VecDeque::new(),
            ended: None,
        }
    }
}
