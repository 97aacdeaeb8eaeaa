//! Serves the call of a task, in the place of a request.

use super::control::{StopReason, TaskControl};
use super::fate;
use super::questions::{LOOK, TaskQuestions};
use super::record::{TaskRecord, TaskState};
use super::recorder::{Recorder, Superseded, TaskProgress};
use super::table::TaskId;
use super::tasks::Tasks;
use crate::calls::live::{ClientEnd, LiveCall};
use crate::client::chunk_record::ChunkRecord;
use crate::client::notification_sender::NotificationSender;
use crate::client::stream::ForwardEnd;
use bytesize::ByteSize;
use futures::future::BoxFuture;
use platform::durable::Revision;
use plugins::calls::FinishedCall;
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use runtime::engine::{CallError, catch_panic};
use runtime::imports::ProgressReport;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Makes the result of a call that has ended.
pub(crate) type Finish = Box<dyn FnOnce(FinishedCall, ChunkRecord) -> BoxFuture<'static, EndedCall> + Send>;

/// How the call of a task ended.
pub(crate) struct EndedCall {
    /// What its request would have been answered with.
    pub(crate) answer: Result<JsonObject, ErrorData>,
    pub(crate) usage: Option<Value>,
}

/// The task of the process that serves a task's call.
pub(super) struct TaskRunner {
    pub(super) tasks: Arc<Tasks>,
    pub(super) id: TaskId,
    pub(super) record: TaskRecord,
    pub(super) revision: Revision,
    pub(super) control: TaskControl,
}

impl TaskRunner {
    pub(super) async fn run(self, live: LiveCall, finish: Finish) {
        let Self { tasks, id, record, revision, mut control } = self;
        let mut recorder = Recorder { tasks: tasks.clone(), id: id.clone(), record, revision };
        let cancel = live.end.cancel.clone();
        let serving = serve(&mut recorder, &mut control, live, finish);
        let (ended, was_cancelled) = match catch_panic(serving).await {
            Ok(ended) => ended,
            Err(error) => {
                cancel.cancel();
                let answer = Err(ErrorData::internal_error(error.to_string(), None));
                (EndedCall { answer, usage: None }, false)
            }
        };
        let reason = control.reason.get().copied();
        if reason != Some(StopReason::Superseded) {
            let (state, message) = tasks.end_state(&id, &ended, reason.filter(|_| was_cancelled));
            recorder.end(state, message, ended.usage).await;
        }
        if let Some(running) = tasks.running.lock().remove(&id) {
            drop(tasks.store.release(&running.lease));
        }
    }
}

impl Tasks {
    /// The state of a task that has ended, and its message. `reason` is why its call was cancelled, if it was.
    fn end_state(&self, id: &TaskId, ended: &EndedCall, reason: Option<StopReason>) -> (TaskState, Option<String>) {
        match (&ended.answer, reason) {
            (_, Some(StopReason::Client)) => (TaskState::Cancelled, Some("It was cancelled.".into())),
            (_, Some(StopReason::Expired)) => {
                let limit = humantime::format_duration(self.limits.run);
                let text = format!("It was ended because it took longer than {limit}, the limit `server.tasks.run`.");
                (TaskState::failed(&text), Some(text))
            }
            (_, Some(StopReason::Shutdown)) => fate::at_shutdown(),
            (Ok(result), _) => {
                let bytes = Value::Object(result.clone()).to_string().len() as u64;
                let fits = bytes <= self.limits.result.as_u64() && self.table.lock().grow(id, bytes, &self.limits);
                match fits {
                    true => (TaskState::Completed { result: result.clone() }, None),
                    false => (TaskState::Completed { result: too_large(bytes, result) }, None),
                }
            }
            (Err(error), _) => {
                let value = serde_json::to_value(error).ok().and_then(|value| value.as_object().cloned());
                let text = error.message.to_string();
                (value.map_or_else(|| TaskState::failed(&text), |error| TaskState::Failed { error }), Some(text))
            }
        }
    }
}

/// What is kept in the place of a result for which there is no room.
fn too_large(bytes: u64, result: &JsonObject) -> JsonObject {
    let text = format!(
        "The tool has ended, but its result of {} cannot be kept: server.tasks.result and server.tasks.size set how much may \
         be, and how long ended tasks take room.",
        ByteSize(bytes)
    );
    let value = json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }], "isError": true });
    let mut kept = value.as_object().cloned().unwrap_or_default();
    if let Some(meta) = result.get("_meta") {
        kept.insert("_meta".into(), meta.clone());
    }
    kept
}

/// Runs the call until it is done, and stores how it stands. Also says whether it was cancelled.
async fn serve(
    recorder: &mut Recorder,
    control: &mut TaskControl,
    live: LiveCall,
    finish: Finish,
) -> (EndedCall, bool) {
    let LiveCall { mut call, end: ClientEnd { stream, view: _, cancel, held, life }, unasked } = live;
    // No request parks it any more, so nobody would read its records.
    life.journal.cannot_replay("it goes on as a task");
    let (tasks, chunks) = (recorder.tasks.clone(), stream.record());
    let (progress, sees) = watch::channel(TaskProgress::default());
    let progress = Arc::new(progress);
    let reports = progress.clone();
    let sender = NotificationSender::Task(Arc::new(move |report| {
        let message = describe(report);
        reports.send_if_modified(|now| {
            now.message != message && {
                now.message = message;
                true
            }
        });
    }));
    let (principal, correlation) = (recorder.record.principal(), recorder.record.correlation.clone());
    let mut questions = TaskQuestions::new(tasks.permits.clone(), principal, correlation, held);
    let ask_changed = |questions: &TaskQuestions| {
        let requests = questions.outstanding();
        progress.send_if_modified(|now| {
            now.requests != requests && {
                now.requests = requests;
                now.version += 1;
                true
            }
        });
    };
    for ask in unasked {
        questions.ask(ask, tasks.clock.now());
    }
    ask_changed(&questions);
    // Nobody takes the events over any more.
    let stay = CancellationToken::new();
    let mut forwarding = Some(stream.forward(sender.clone(), stay.clone()));
    let outcome = {
        let mut recording = std::pin::pin!(recorder.follow(sees, &control.stored));
        loop {
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => pending().await,
                }
            };
            let wait =
                questions.expires().map(|expires| expires.saturating_duration_since(tasks.clock.now()).min(LOOK));
            let give_up = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                (stream, event) = forward => {
                    forwarding = None;
                    if let ForwardEnd::Asked(ask) = event {
                        questions.ask(ask, tasks.clock.now());
                        forwarding = Some(stream.forward(sender.clone(), stay.clone()));
                    }
                }
                Some((answers, taken)) = control.answers.recv() => {
                    questions.answer(answers);
                    ask_changed(&questions);
                    let version = progress.borrow().version;
                    // A client that went away needs none.
                    let _ = taken.send(version);
                    continue;
                }
                () = give_up => questions.give_up(tasks.clock.now()),
                Superseded = &mut recording => {
                    let _ = control.reason.set(StopReason::Superseded);
                    cancel.cancel();
                    break (&mut call).await;
                }
            }
            ask_changed(&questions);
        }
    };
    // Dropping the call closes the queue; its last events are stored before the result.
    drop(call);
    if let Some(forwarding) = forwarding {
        forwarding.await;
    }
    let was_cancelled = matches!(outcome.result, Err(CallError::Cancelled));
    (finish(outcome, chunks).await, was_cancelled)
}

/// A report as a line of text.
fn describe(report: ProgressReport) -> Option<String> {
    let ProgressReport { done, total, message } = report;
    match (message, total) {
        (Some(message), _) => Some(message),
        (None, Some(total)) => Some(format!("{done} of {total}")),
        (None, None) => Some(done.to_string()),
    }
}
