//! Serves the call of a task, as a request would: makes the call again if necessary, and records how it ended.

use crate::calls::live::LiveCall;
use crate::client::chunk_record::ChunkRecord;
use crate::tasks::records::asked::AskedQuestions;
use crate::tasks::records::call::{EndedCall, Finish, NotMade};
use crate::tasks::records::control::{RunningTask, StopReason, TaskControl};
use crate::tasks::records::record::{TaskRecord, TaskState};
use crate::tasks::records::shown_calls::ShownCalls;
use crate::tasks::records::table::TaskId;
use crate::tasks::run::fate;
use crate::tasks::run::recorder::Recorder;
use crate::tasks::run::serve::{Served, serve};
use crate::tasks::tasks::{LEASE, Tasks};
use bytesize::ByteSize;
use platform::durable::{Durability, DurableError, Revision, StoreAnswer};
use plugins::calls::FinishedCall;
use rmcp::model::JsonObject;
use runtime::engine::{CallError, catch_panic};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pauses between two attempts to go on with a call.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Serves a task's call in this process, from start to end.
pub(in crate::tasks) struct TaskRunner {
    recorder: Recorder,
    control: TaskControl,
    /// What earlier runs of the call have asked.
    asked: AskedQuestions,
    /// The output of the call, on its way to the store.
    output: Option<StoreAnswer<Revision>>,
}

impl TaskRunner {
    pub(in crate::tasks) fn new(
        tasks: Arc<Tasks>,
        id: TaskId,
        record: TaskRecord,
        revision: Revision,
        control: TaskControl,
    ) -> Self {
        Self {
            recorder: Recorder { tasks, id, record, revision },
            control,
            asked: AskedQuestions::default(),
            output: None,
        }
    }

    /// Serves the call that has begun here, or makes the call again that an earlier run has left.
    pub(in crate::tasks) async fn run(mut self, begun: Option<(LiveCall, Finish)>) {
        let (mut pauses, is_new, mut begun) = (Backoff::default(), begun.is_some(), begun);
        while begun.is_some() || !(self.control.stop.is_cancelled() || self.recorder.record.has_ended()) {
            let made = match begun.take() {
                Some(begun) => Some(begun),
                None => self.make_again(&mut pauses).await,
            };
            let Some((live, finish)) = made else { continue };
            if !is_new && let Err(error) = self.take_what_waits().await {
                tracing::error!(%error, "what is asked of a task cannot be read; trying again");
            }
            match self.serve(live).await {
                // The call could not start, since other calls have its place at the moment.
                Ok(Served::Ended(outcome, _))
                    if !is_new && outcome.result.as_ref().is_err_and(CallError::was_not_started) =>
                {
                    pauses.wait(&self.control.stop).await;
                    continue;
                }
                Ok(Served::Ended(outcome, chunks)) => self.end(outcome, chunks, finish).await,
                Ok(Served::Left) => {}
                Ok(Served::Suspended(unread)) => {
                    let Recorder { tasks, id, record, .. } = &self.recorder;
                    tasks.keep_what_waits(id, record, unread).await;
                    // Its client makes it run again, so the repeated fuel is charged to the client's day.
                    if let Some(maker) = tasks.maker.get() {
                        maker.forget(record);
                    }
                    if !self.control.close() {
                        // It was stopped meanwhile.
                        continue;
                    }
                }
                Err(error) => self.record_end(EndedCall::failed(&error), None).await,
            }
            break;
        }
        // The task was stopped while its call did not run.
        if let Some(reason @ (StopReason::Client | StopReason::Expired)) = self.control.reason.get().copied()
            && !self.recorder.record.has_ended()
        {
            self.audit_end();
            self.record_end(EndedCall::failed(&CallError::Cancelled), Some(reason)).await;
        }
        self.leave();
    }

    /// Makes the call again that an earlier run has left. None if that is not possible now, or not at all.
    async fn make_again(&mut self, pauses: &mut Backoff) -> Option<(LiveCall, Finish)> {
        let stop = self.control.stop.clone();
        match stop.run_until_cancelled_owned(fate::make_call(&self.recorder)).await? {
            Ok((live, finish, asked)) => {
                self.asked = asked;
                self.hold(LEASE).await;
                return Some((live, finish));
            }
            // Another process may have taken the call over, and may have ended it.
            Err(_) if !self.is_own().await => {
                let _ = self.control.reason.set(StopReason::Superseded);
                self.control.stop.cancel();
            }
            Err(NotMade::Never(why)) => self.record_lost(&why).await,
            Err(NotMade::NotYet(why)) => {
                tracing::warn!(task = &*self.recorder.id, "a task waits: {why}");
                // Shows in the task what the call waits for. If storing that fails, it is shown after the next attempt.
                self.recorder.record.calls = ShownCalls::default();
                let state = self.recorder.record.state.clone();
                let _ = self.recorder.save(state, Some(why), Durability::Process).await;
                // Gives up the lease, since another process may have what is missing here.
                self.hold(Duration::ZERO).await;
                pauses.wait(&self.control.stop).await;
            }
        }
        None
    }

    /// Whether this process still owns the task, as far as the store can tell.
    async fn is_own(&mut self) -> bool {
        let Recorder { tasks, id, record, .. } = &self.recorder;
        let (tasks, id, owner) = (tasks.clone(), id.clone(), record.owner);
        match tasks.load(&id).await {
            Ok(stored) => stored.is_some_and(|(task, _)| !task.has_ended() && task.owner == owner),
            Err(_) => true,
        }
    }

    /// Holds the lease of the task for this time, unless another process has taken the task over.
    async fn hold(&mut self, time: Duration) {
        let Recorder { tasks, id, .. } = &self.recorder;
        let lease = tasks.running.lock().get(id).map(|running| running.lease.clone());
        let was_free = self.control.is_free.swap(time.is_zero(), Ordering::Relaxed);
        if was_free != time.is_zero()
            && let Some(lease) = lease
            && let Err(error) = tasks.store.renew(vec![lease], time).await
        {
            tracing::error!(task = &**id, %error, "the lease of a task cannot be changed");
        }
    }

    /// Takes the messages and requests that wait, before any new ones.
    async fn take_what_waits(&mut self) -> Result<(), DurableError> {
        let Recorder { tasks, id, record, .. } = &self.recorder;
        tasks.take_messages(id, record).await?;
        tasks.take_requests_of(id).await
    }

    async fn end(&mut self, outcome: FinishedCall, chunks: ChunkRecord, finish: Finish) {
        let was_cancelled = matches!(outcome.result, Err(CallError::Cancelled));
        let reason = self.control.reason.get().copied().filter(|_| was_cancelled);
        // The output is stored before the log ends: from then on, other calls may take its room in memory.
        self.keep_output();
        let ended = finish(outcome, chunks).await;
        self.record_end(ended, reason).await;
    }

    async fn record_end(&mut self, ended: EndedCall, reason: Option<StopReason>) {
        let Recorder { tasks, id, .. } = &self.recorder;
        let (state, message) = tasks.end_state(id, &ended, reason);
        self.keep_output();
        let Recorder { tasks, id, .. } = &self.recorder;
        // This comes before the end is stored, since an ended task may be removed at any time.
        tasks.keep_timeline(id, &self.recorder.record).await;
        self.recorder.end(state, message, ended.usage).await;
        if let Some(kept) = self.output.take()
            && kept.await.is_err()
        {
            // Now there is room again.
            self.keep_output();
        }
    }

    fn keep_output(&mut self) {
        if self.output.is_none() {
            let Recorder { tasks, id, record, .. } = &self.recorder;
            self.output = tasks.keep_output(id, record);
        }
    }

    async fn record_lost(&mut self, why: &str) {
        let (state, message) = fate::lost(why);
        tracing::warn!(task = &*self.recorder.id, tool = self.recorder.record.tool, "a task was lost: {why}");
        self.audit_end();
        self.recorder.tasks.keep_timeline(&self.recorder.id, &self.recorder.record).await;
        self.recorder.end(state, message, None).await;
    }

    /// Audits the end of a call whose process was killed, since that process has recorded nothing.
    fn audit_end(&self) {
        if let Some(maker) = self.recorder.tasks.maker.get() {
            maker.record_end(&self.recorder.record);
        }
    }

    /// Stops serving the task. If it has not ended, another process may take it up.
    fn leave(self) {
        let Recorder { tasks, id, record, .. } = self.recorder;
        if record.has_ended() {
            tasks.forget_steps(&id);
            if let Some(maker) = tasks.maker.get() {
                maker.forget(&record);
            }
        }
        // A sweep that ran meanwhile has taken the task for a running one.
        match record.suspended_until() {
            Some(until) => tasks.table.lock().suspend(&id, until),
            None if record.has_ended() => tasks.table.lock().end(&id, record.expires()),
            None => tasks.table.lock().set_expiry(&id, record.expires()),
        }
        if let Some(RunningTask { lease, .. }) = tasks.running.lock().remove(&id) {
            // A task that has not ended gets an expired lease, so every process that looks for expired leases finds it.
            match record.has_ended() {
                true => drop(tasks.store.release(&lease)),
                false => drop(tasks.store.renew(vec![lease], Duration::ZERO)),
            }
        }
        tasks.wake.notify_one();
    }

    async fn serve(&mut self, live: LiveCall) -> Result<Served, CallError> {
        let cancel = live.end.cancel.clone();
        let asked = std::mem::take(&mut self.asked);
        let served = catch_panic(serve(&mut self.recorder, &mut self.control, live, asked)).await;
        if served.is_err() {
            cancel.cancel();
        }
        served
    }
}

/// Growing pauses between two attempts.
struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Backoff {
    async fn wait(&mut self, stop: &CancellationToken) {
        let _ = stop.run_until_cancelled(tokio::time::sleep(self.0)).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

impl Tasks {
    /// The state and the message of a task that has ended. `reason` is why its call was cancelled, if it was.
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

/// The result that replaces one for which there is no room.
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
