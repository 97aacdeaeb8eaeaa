//! What others ask of a task that runs in this process.

use platform::durable::Lease;
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
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

/// What is asked of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TaskRequest {
    Answer(InputResponses),
    Cancel,
    /// A message for the guest, which a client would send to the call.
    Steer(String),
}

/// A task that runs in this process, for those who ask something of it. Clones are the same.
#[derive(Clone)]
pub(super) struct RunningTask {
    stop: CancellationToken,
    reason: Arc<OnceLock<StopReason>>,
    answers: mpsc::Sender<(InputResponses, oneshot::Sender<u64>)>,
    stored: watch::Receiver<u64>,
    pub(super) lease: Lease,
}

/// The other ends of a [`RunningTask`].
pub(super) struct TaskControl {
    /// Cancelled once there is a reason to stop.
    pub(super) stop: CancellationToken,
    pub(super) reason: Arc<OnceLock<StopReason>>,
    /// Each with whom to tell the version that has them.
    pub(super) answers: mpsc::Receiver<(InputResponses, oneshot::Sender<u64>)>,
    /// The version that is stored.
    pub(super) stored: watch::Sender<u64>,
}

impl RunningTask {
    pub(super) fn new(lease: Lease) -> (Self, TaskControl) {
        let (stop, reason) = (CancellationToken::new(), Arc::<OnceLock<StopReason>>::default());
        let (to, answers) = mpsc::channel(MAX_WAITING_ANSWERS);
        let (stored, sees) = watch::channel(0);
        let control = TaskControl { stop: stop.clone(), reason: reason.clone(), answers, stored };
        (Self { stop, reason, answers: to, stored: sees, lease }, control)
    }

    /// Returns when it is done.
    pub(super) async fn ask(self, request: TaskRequest) {
        match request {
            TaskRequest::Answer(answers) => self.answer(answers).await,
            TaskRequest::Cancel => self.stop(StopReason::Client),
            // The call gets messages, and not the task.
            TaskRequest::Steer(_) => {}
        }
    }

    /// Returns when the answers are taken and what is left is stored, or the task has ended.
    async fn answer(mut self, answers: InputResponses) {
        let (taken, version) = oneshot::channel();
        if self.answers.send((answers, taken)).await.is_err() {
            return;
        }
        if let Ok(version) = version.await {
            // It fails when the task has ended.
            let _ = self.stored.wait_for(|stored| *stored >= version).await;
        }
    }

    /// Ends the call, or leaves it to another process. The first reason counts.
    pub(super) fn stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }
}
