//! Follows a task of a server to its end: a call that goes on there after its request was answered.

use crate::api::call::UpstreamResult;
use crate::api::error::UpstreamError;
use crate::api::handler::UpstreamCallEvent;
use crate::calls::exchange::{Exchange, MAX_TOGETHER};
use crate::calls::task_calls::UpstreamTaskCalls;
use crate::server_input::text::single_line;
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, ErrorCode, GetTaskParams, GetTaskRequest,
    GetTaskResult, InputRequests, InputResponses, JsonObject, ServerResult, TaskPayload, UpdateTaskParams,
    UpdateTaskRequest,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::future::pending;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Length of a task's id, in bytes. It is kept, and sent with each request about the task.
pub(crate) const MAX_TASK_ID: usize = 512;
/// Time between two polls of a task. Bounds the cost of a server that wants to be polled all the time, and how long we wait for
/// one that does not want to be polled.
const MIN_POLL: Duration = Duration::from_millis(100);
const MAX_POLL: Duration = Duration::from_secs(60);
/// Time between two polls, for a server that names no interval.
const DEFAULT_POLL: Duration = Duration::from_secs(1);
/// How long a task is followed while its server does not answer. Bounds how long a script waits for a server that is gone.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a cancelled task is still polled, since it may have ended just before.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// `MISSING_REQUIRED_CLIENT_CAPABILITY`: the tool can only be called as a task, or the server does not support tasks any more.
pub(crate) const NO_TASKS: i32 = -32021;

type Answering<'e> = BoxFuture<'e, Result<InputResponses, UpstreamError>>;

struct FollowedTask<'e, 'a> {
    exchange: &'e Exchange<'a>,
    id: &'e str,
    /// Its last status message.
    message: Option<String>,
    /// Whether its questions are answered; not any more once it is cancelled.
    asks: bool,
    /// Questions that are being answered, by their keys.
    asking: Option<(BTreeSet<String>, Answering<'e>)>,
    /// Answers that the server has not confirmed. They are kept while it does not list their questions: a server that has just
    /// restarted may not have come to them yet.
    unsent: InputResponses,
    /// Questions whose answers the server has received, and which it still lists.
    answered: BTreeSet<String>,
    calls: UpstreamTaskCalls<'e>,
}

/// Follows a task until it ends, over lost connections. `begun` are the calls of tools that an earlier process has begun for it.
/// Dropping the future leaves the task as it is; `cancel` cancels it.
pub(crate) async fn follow(
    exchange: &Exchange<'_>,
    id: &str,
    begun: Vec<String>,
    cancel: &CancellationToken,
) -> Result<UpstreamResult, UpstreamError> {
    let (asking, unsent, answered) = Default::default();
    let calls = UpstreamTaskCalls::new(&begun);
    exchange.call().becomes_task(id.to_owned(), begun);
    let mut task = FollowedTask { exchange, id, message: None, asks: true, asking, unsent, answered, calls };
    let now = || exchange.shared.clock.now();
    let (mut heard, mut cancelled, mut told) = (now(), None::<Instant>, false);
    loop {
        if cancelled.is_some() && !told {
            told = task.cancel().await;
        }
        let looked = tokio::select! {
            biased;
            () = cancel.cancelled(), if cancelled.is_none() => None,
            looked = task.look() => Some(looked),
        };
        let wait = match looked {
            None => {
                cancelled = Some(now());
                (task.asks, task.asking) = (false, None);
                task.calls.stop();
                continue;
            }
            Some(Ok(TaskProgress::Ended(end))) => {
                if let Err(UpstreamError::Malformed { .. }) = &end {
                    // Cancelled, because nobody follows it any more.
                    task.cancel().await;
                }
                return end;
            }
            Some(Ok(TaskProgress::GoesOn(wait))) => {
                heard = now();
                wait
            }
            Some(Err(UpstreamError::Refused { server, code, message })) if is_final(code) => {
                return Err(UpstreamError::Gone { server, message });
            }
            Some(Err(error)) => {
                tracing::debug!(server = exchange.shared.name(), "cannot ask how a task stands: {error}");
                if now().saturating_duration_since(heard) >= PATIENCE {
                    return Err(UpstreamError::Unreachable { server: exchange.server(), limit: PATIENCE });
                }
                DEFAULT_POLL
            }
        };
        if cancelled.is_some_and(|since| now().saturating_duration_since(since) >= CANCEL_PATIENCE) {
            return Err(match told {
                true => UpstreamError::Cancelled,
                false => UpstreamError::Unreachable { server: exchange.server(), limit: CANCEL_PATIENCE },
            });
        }
        let answers = async {
            match task.asking.as_mut() {
                Some((_, answers)) => answers.await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled(), if cancelled.is_none() => {}
            answers = answers => {
                task.asking = None;
                match answers {
                    Ok(answers) => task.unsent.extend(answers),
                    Err(error) => {
                        // Cancelled, because its tool would wait for an answer that nobody gives.
                        task.cancel().await;
                        return Err(error);
                    }
                }
            }
            () = task.calls.ended() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

enum TaskProgress {
    Ended(Result<UpstreamResult, UpstreamError>),
    /// Look again after this time.
    GoesOn(Duration),
}

/// Whether an error says that the task cannot be asked for any more, now or later.
fn is_final(code: i32) -> bool {
    [ErrorCode::INVALID_PARAMS.0, ErrorCode::METHOD_NOT_FOUND.0, NO_TASKS].contains(&code)
}

impl FollowedTask<'_, '_> {
    /// Polls the task, begins to answer its questions, and sends the answers that are ready.
    async fn look(&mut self) -> Result<TaskProgress, UpstreamError> {
        let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(self.id)));
        let ServerResult::GetTaskResult(GetTaskResult { meta, task, .. }) = self.exchange.send_now(request).await?
        else {
            return Ok(TaskProgress::Ended(Err(self.exchange.malformed("a result of another kind than a task's"))));
        };
        let meta = meta.map(|meta| meta.0).unwrap_or_default();
        let calls = match UpstreamTaskCalls::read(&meta).and_then(|calls| self.calls.check(&calls).map(|()| calls)) {
            Ok(calls) => calls,
            Err(what) => return Ok(TaskProgress::Ended(Err(self.exchange.malformed(what)))),
        };
        self.exchange.call().read_call_id(&Value::Object(meta));
        let (poll, message) = (task.task.poll_interval_ms, task.task.status_message.as_deref().map(single_line));
        if message.is_some() && message != self.message {
            self.message.clone_from(&message);
            self.exchange.call().emit(UpstreamCallEvent::Status(message.unwrap_or_default()));
        }
        let requests = match task.payload {
            TaskPayload::Working => InputRequests::new(),
            TaskPayload::InputRequired { input_requests } => input_requests,
            TaskPayload::Completed { result } => return Ok(TaskProgress::Ended(self.result(result))),
            TaskPayload::Failed { error } => return Ok(TaskProgress::Ended(Err(self.failure(&error)))),
            TaskPayload::Cancelled => return Ok(TaskProgress::Ended(Err(UpstreamError::Cancelled))),
            _ => return Ok(TaskProgress::Ended(Err(self.exchange.malformed("a task in an unknown state")))),
        };
        if requests.len() > MAX_TOGETHER {
            let error = self.exchange.malformed(format!("{} questions at once", requests.len()));
            return Ok(TaskProgress::Ended(Err(error)));
        }
        let due = self.unsent.iter().filter(|(key, _)| requests.contains_key(*key));
        let due: InputResponses = due.map(|(key, answer)| (key.clone(), answer.clone())).collect();
        if self.asks {
            self.ask(requests);
            self.calls.note(self.exchange, calls);
        }
        let outcomes = self.calls.unsent();
        if due.is_empty() && outcomes.is_empty() {
            let poll = poll.map_or(DEFAULT_POLL, Duration::from_millis);
            return Ok(TaskProgress::GoesOn(poll.clamp(MIN_POLL, MAX_POLL)));
        }
        self.send_answers(due, outcomes).await?;
        Ok(TaskProgress::GoesOn(MIN_POLL))
    }

    /// Begins to answer new questions. A key is never used again for another question.
    fn ask(&mut self, mut requests: InputRequests) {
        self.answered.retain(|key| requests.contains_key(key));
        // Bounds the memory of a server that asks for ever and never lists its earlier questions again.
        if self.unsent.len() > MAX_TOGETHER {
            self.unsent.retain(|key, _| requests.contains_key(key));
        }
        if let Some((keys, _)) = &self.asking {
            if keys.iter().any(|key| requests.contains_key(key)) {
                return;
            }
            // The questions were withdrawn.
            self.asking = None;
        }
        requests.retain(|key, _| !self.answered.contains(key) && !self.unsent.contains_key(key));
        if !requests.is_empty() {
            let keys = requests.keys().cloned().collect();
            self.asking = Some((keys, self.exchange.answer_questions(requests).boxed()));
        }
    }

    async fn send_answers(
        &mut self,
        answers: InputResponses,
        outcomes: Map<String, Value>,
    ) -> Result<(), UpstreamError> {
        let params = UpdateTaskParams::new(self.id, answers.clone());
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        match self.exchange.send_with_outcomes(request, outcomes.clone()).await {
            // The question is not asked again: the user or a rule would give the same answer for ever.
            Err(error @ UpstreamError::Refused { .. }) => {
                self.exchange.call().emit(UpstreamCallEvent::Log(format!("an answer is lost: {error}")));
                self.calls.refused(self.exchange, outcomes, &error.to_string());
            }
            sent => {
                sent?;
                self.calls.sent(self.exchange, &outcomes);
            }
        }
        for key in answers.into_keys() {
            self.unsent.remove(&key);
            self.answered.insert(key);
        }
        Ok(())
    }

    /// Cancels the task. Returns whether the server has received that.
    async fn cancel(&mut self) -> bool {
        let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(self.id)));
        match self.exchange.send_now(request).await {
            Ok(_) | Err(UpstreamError::Refused { .. }) => true,
            Err(error) => {
                tracing::debug!(server = self.exchange.shared.name(), "cannot cancel a task: {error}");
                false
            }
        }
    }

    fn result(&self, result: JsonObject) -> Result<UpstreamResult, UpstreamError> {
        let result: CallToolResult = serde_json::from_value(Value::Object(result))
            .map_err(|error| self.exchange.malformed(format!("a malformed result of a task: {error}")))?;
        self.exchange.to_upstream_result(result)
    }

    fn failure(&self, error: &JsonObject) -> UpstreamError {
        let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        let message = error.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
        let code = code.unwrap_or(ErrorCode::INTERNAL_ERROR.0);
        UpstreamError::Refused { server: self.exchange.server(), code, message: single_line(message) }
    }
}
