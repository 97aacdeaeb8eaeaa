//! The channel to a task that runs in this process: requests to stop it, answers, messages and fuel.

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use platform::durable::Lease;
use rmcp::model::InputResponses;
use runtime::imports::SteeringMessage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Inputs that wait for a task. Bounds the memory if a client sends them faster than the task takes them.
const MAX_WAITING: usize = 16;

/// Why a task is stopped before its call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tasks) enum StopReason {
    Client,
    /// It has run for too long.
    Expired,
    /// The process ends.
    Shutdown,
    /// Another process serves the task now.
    Superseded,
}

/// A request to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::tasks) enum TaskRequest {
    Answer(InputResponses),
    /// Outcomes of calls of its client's tools, by key.
    Outcomes(Map<String, Value>),
    Cancel,
    /// A message for the guest, which a client would send to the call.
    Steer(SteeringMessage),
    TopUp(TopUp),
}

/// More fuel for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::tasks) struct TopUp {
    /// The name of the request, by which a repetition is recognized.
    pub(in crate::tasks) request: String,
    pub(in crate::tasks) units: u64,
}

/// An input that changes how a task goes on.
pub(in crate::tasks) enum TaskInput {
    /// Somebody is about to send something to its call, which therefore keeps its instance for a moment.
    Stay,
    Answers(InputResponses),
    Outcomes(Map<String, Value>),
    Steer(SteeringMessage),
    TopUp(TopUp),
}

/// A handle on a task that runs in this process, for those who want something from it. Clones refer to the same task.
#[derive(Clone)]
pub(in crate::tasks) struct RunningTask {
    stop: CancellationToken,
    reason: Arc<OnceLock<StopReason>>,
    inputs: mpsc::Sender<(TaskInput, oneshot::Sender<u64>)>,
    stored: watch::Receiver<u64>,
    pub(in crate::tasks) lease: Lease,
    /// Its call cannot be made here now, so any process that can make it may take the task over.
    pub(in crate::tasks) is_free: Arc<AtomicBool>,
}

/// The other ends of a [`RunningTask`].
pub(in crate::tasks) struct TaskControl {
    /// Cancelled once there is a reason to stop.
    pub(in crate::tasks) stop: CancellationToken,
    pub(in crate::tasks) reason: Arc<OnceLock<StopReason>>,
    /// Each with a sender for the version of the task's state that includes the input.
    pub(in crate::tasks) inputs: mpsc::Receiver<(TaskInput, oneshot::Sender<u64>)>,
    /// The version that is stored.
    pub(in crate::tasks) stored: watch::Sender<u64>,
    /// See [`RunningTask::is_free`].
    pub(in crate::tasks) is_free: Arc<AtomicBool>,
}

impl RunningTask {
    pub(in crate::tasks) fn new(lease: Lease) -> (Self, TaskControl) {
        let (stop, reason) = (CancellationToken::new(), Arc::<OnceLock<StopReason>>::default());
        let (to, inputs) = mpsc::channel(MAX_WAITING);
        let (stored, sees) = watch::channel(0);
        let is_free = Arc::<AtomicBool>::default();
        let control =
            TaskControl { stop: stop.clone(), reason: reason.clone(), inputs, stored, is_free: is_free.clone() };
        (Self { stop, reason, inputs: to, stored: sees, lease, is_free }, control)
    }

    /// Sends the request at once, so that requests keep their order. The future resolves when the request is done: to false if
    /// the task is not served here any more. None if too many inputs wait for the task.
    pub(in crate::tasks) fn ask(self, request: TaskRequest) -> Option<BoxFuture<'static, bool>> {
        match request {
            TaskRequest::Answer(answers) => self.put_in(TaskInput::Answers(answers)),
            TaskRequest::Outcomes(outcomes) => self.put_in(TaskInput::Outcomes(outcomes)),
            TaskRequest::TopUp(top_up) => self.put_in(TaskInput::TopUp(top_up)),
            TaskRequest::Steer(message) => self.put_in(TaskInput::Steer(message)),
            TaskRequest::Cancel => {
                self.stop(StopReason::Client);
                // The runner closes this channel before it looks for a reason to stop.
                Some(ready(!self.inputs.is_closed()).boxed())
            }
        }
    }

    /// Asks the call to keep its instance for a moment. The future resolves when the request is served.
    pub(in crate::tasks) fn stay(self) -> BoxFuture<'static, bool> {
        // If too many inputs wait for the call, it keeps its instance anyway.
        self.put_in(TaskInput::Stay).unwrap_or_else(|| ready(true).boxed())
    }

    fn put_in(mut self, input: TaskInput) -> Option<BoxFuture<'static, bool>> {
        let (taken, version) = oneshot::channel();
        match self.inputs.try_send((input, taken)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return None,
            Err(TrySendError::Closed(_)) => return Some(ready(false).boxed()),
        }
        let stored = async move {
            let Ok(version) = version.await else { return false };
            self.stored.wait_for(|stored| *stored >= version).await.is_ok()
        };
        Some(stored.boxed())
    }

    /// Whether the runner of the task is about to stop serving it.
    pub(in crate::tasks) fn is_being_left(&self) -> bool {
        self.inputs.is_closed()
    }

    /// Returns when nobody serves the task here any more.
    pub(in crate::tasks) async fn left(mut self) {
        while self.stored.changed().await.is_ok() {}
    }

    /// Ends the call, or leaves it to another process. Only the first reason counts.
    pub(in crate::tasks) fn stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }
}

impl TaskControl {
    /// Closes the channel, so that no more inputs reach the task here. False if it was asked to stop before that.
    pub(in crate::tasks) fn close(&mut self) -> bool {
        self.inputs.close();
        !self.stop.is_cancelled()
    }
}
