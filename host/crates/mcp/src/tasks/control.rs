//! What others ask of a task that runs in this process.

use platform::durable::Lease;
use rmcp::model::InputResponses;
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Answers that wait for a task. Bounds the memory for a client that sends them faster than they are taken.
const MAX_WAITING_ANSWERS: usize = 16;

/// Why a task is stopped before its call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Client,
    /// It has run for too long.
    Expired,
    /// The process ends.
    Shutdown,
    /// It is not this process's task any more.
    Superseded,
}

/// A task that runs in this process, for those who ask something of it. Clones are the same.
#[derive(Clone)]
pub(super) struct RunningTask {
    cancel: CancellationToken,
    reason: Arc<OnceLock<StopReason>>,
    answers: mpsc::Sender<(InputResponses, oneshot::Sender<u64>)>,
    stored: watch::Receiver<u64>,
    pub(super) lease: Lease,
}

/// The other ends of a [`RunningTask`].
pub(super) struct TaskControl {
    pub(super) reason: Arc<OnceLock<StopReason>>,
    /// Each with whom to tell the version that has them.
    pub(super) answers: mpsc::Receiver<(InputResponses, oneshot::Sender<u64>)>,
    /// The version that is stored.
    pub(super) stored: watch::Sender<u64>,
}

impl RunningTask {
    pub(super) fn new(cancel: CancellationToken, lease: Lease) -> (Self, TaskControl) {
        let reason = Arc::<OnceLock<StopReason>>::default();
        let (to, answers) = mpsc::channel(MAX_WAITING_ANSWERS);
        let (stored, sees) = watch::channel(0);
        let control = TaskControl { reason: reason.clone(), answers, stored };
        (Self { cancel, reason, answers: to, stored: sees, lease }, control)
    }

    /// Returns when the answers are taken and what is left is stored, or the task has ended.
    pub(super) async fn answer(mut self, answers: InputResponses) {
        let (taken, version) = oneshot::channel();
        if self.answers.send((answers, taken)).await.is_err() {
            return;
        }
        if let Ok(version) = version.await {
            // It fails when the task has ended.
            let _ = self.stored.wait_for(|stored| *stored >= version).await;
        }
    }

    /// Ends the call. The first reason counts.
    pub(super) fn stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.cancel.cancel();
    }
}
