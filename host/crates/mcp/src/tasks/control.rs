//! What others ask of a task that runs in this process.

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

/// Answers, messages and fuel that wait for a task. Bounds the memory for a client that sends them faster than they are taken.
const MAX_WAITING: usize = 16;

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
    /// Outcomes of calls of its client's tools, by key.
    Outcomes(Map<String, Value>),
    Cancel,
    /// A message for the guest, which a client would send to the call.
    Steer(SteeringMessage),
    TopUp(TopUp),
}

/// More fuel for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TopUp {
    /// The name of the request.
    pub(super) request: String,
    pub(super) units: u64,
}

/// What changes how a task goes on.
pub(super) enum TaskInput {
    /// Somebody is about to say something to its call, which stays for a moment.
    Stay,
    Answers(InputResponses),
    Outcomes(Map<String, Value>),
    Steer(SteeringMessage),
    TopUp(TopUp),
}

/// A task that runs in this process, for those who ask something of it. Clones are the same.
#[derive(Clone)]
pub(super) struct RunningTask {
    stop: CancellationToken,
    reason: Arc<OnceLock<StopReason>>,
    inputs: mpsc::Sender<(TaskInput, oneshot::Sender<u64>)>,
    stored: watch::Receiver<u64>,
    pub(super) lease: Lease,
    /// Its call cannot be made here now: whoever can may take it over.
    pub(super) is_free: Arc<AtomicBool>,
}

/// The other ends of a [`RunningTask`].
pub(super) struct TaskControl {
    /// Cancelled once there is a reason to stop.
    pub(super) stop: CancellationToken,
    pub(super) reason: Arc<OnceLock<StopReason>>,
    /// Each with whom to tell the version that has them.
    pub(super) inputs: mpsc::Receiver<(TaskInput, oneshot::Sender<u64>)>,
    /// The version that is stored.
    pub(super) stored: watch::Sender<u64>,
    /// See [`RunningTask::is_free`].
    pub(super) is_free: Arc<AtomicBool>,
}

impl RunningTask {
    pub(super) fn new(lease: Lease) -> (Self, TaskControl) {
        let (stop, reason) = (CancellationToken::new(), Arc::<OnceLock<StopReason>>::default());
        let (to, inputs) = mpsc::channel(MAX_WAITING);
        let (stored, sees) = watch::channel(0);
        let is_free = Arc::<AtomicBool>::default();
        let control =
            TaskControl { stop: stop.clone(), reason: reason.clone(), inputs, stored, is_free: is_free.clone() };
        (Self { stop, reason, inputs: to, stored: sees, lease, is_free }, control)
    }

    /// Asks in this moment, so that what is asked keeps its order. The answer is there when it is done: false if the task is not
    /// served here any more. None if too much waits for the task.
    pub(super) fn ask(self, request: TaskRequest) -> Option<BoxFuture<'static, bool>> {
        match request {
            TaskRequest::Answer(answers) => self.put_in(TaskInput::Answers(answers)),
            TaskRequest::Outcomes(outcomes) => self.put_in(TaskInput::Outcomes(outcomes)),
            TaskRequest::TopUp(top_up) => self.put_in(TaskInput::TopUp(top_up)),
            TaskRequest::Steer(message) => self.put_in(TaskInput::Steer(message)),
            TaskRequest::Cancel => {
                self.stop(StopReason::Client);
                // Whoever leaves the task closes this before looking for a reason to stop.
                Some(ready(!self.inputs.is_closed()).boxed())
            }
        }
    }

    /// Asks the call to stay for a moment, likewise. The answer is there when it is served.
    pub(super) fn stay(self) -> BoxFuture<'static, bool> {
        // If too much waits for it, it does not go away.
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

    /// Whether whoever serves the task is leaving it.
    pub(super) fn is_being_left(&self) -> bool {
        self.inputs.is_closed()
    }

    /// Returns when nobody serves the task here any more.
    pub(super) async fn left(mut self) {
        while self.stored.changed().await.is_ok() {}
    }

    /// Ends the call, or leaves it to another process. The first reason counts.
    pub(super) fn stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }
}

impl TaskControl {
    /// From now on nothing is asked of the task here. False if it was asked to stop before that.
    pub(super) fn close(&mut self) -> bool {
        self.inputs.close();
        !self.stop.is_cancelled()
    }
}
