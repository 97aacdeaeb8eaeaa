//! The rounds of one call: each round sends the answers to what the server asked or called in the round before.

use crate::api::call::UpstreamResult;
use crate::api::error::UpstreamError;
use crate::api::handler::UpstreamCallEvent;
use crate::api::resume_point::ResumePoint;
use crate::calls::exchange::{CancelTaskOnDrop, Exchange, MAX_TOGETHER};
use crate::calls::task::{self, MAX_TASK_ID, NO_TASKS};
use crate::connection::shared::ServerConnection;
use crate::open_call::live_lane::UpstreamChannel;
use crate::open_call::reverse::serve_reverse_call;
use crate::open_call::reverse_calls::{ReverseCallParams, ServedIn};
use futures::future::join_all;
use protocol::names::{CLIENT_TOOLS, CORRELATION_META, PARTIAL_RESULT_TOKEN_META};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, InputRequests, InputResponses,
    RequestMetaObject, ServerResult,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Rounds of one call. Bounds a server that never finishes; its reverse calls have a limit of their own.
pub(crate) const MAX_ROUNDS: u32 = 512;
/// Length of a `requestState` or a continuation, in bytes. Both are sent back unchanged.
pub(crate) const MAX_STATE: usize = 64 << 10;

/// The server's answer to one round.
enum RoundResult {
    Done(CallToolResult),
    /// The call waits for answers.
    Parked(ResumePoint),
    /// The call goes on as this task.
    Task(String),
}

/// The answers that the next round sends.
#[derive(Default)]
struct RoundInput {
    answers: Option<InputResponses>,
    request_state: Option<String>,
    results: Option<Value>,
}

/// How the rounds of a call ended.
enum RoundsEnd {
    Done(CallToolResult),
    /// The task's id, and the calls of tools that an earlier process has begun for it.
    Task(String, Vec<String>),
}

/// A running call.
pub(crate) struct CallRounds<'a> {
    pub(crate) exchange: Exchange<'a>,
    pub(crate) connection: Arc<ServerConnection>,
    pub(crate) tool: String,
    pub(crate) timeout: Duration,
    pub(crate) traceparent: Option<String>,
    pub(crate) chain: Option<String>,
    pub(crate) cancel: CancellationToken,
    /// Whether a task that it has become goes on when the call is dropped.
    pub(crate) leaves_task: bool,
}

impl CallRounds<'_> {
    fn malformed(&self, what: impl Into<String>) -> UpstreamError {
        self.exchange.malformed(what)
    }

    /// Runs the call to its end, from its beginning or from where an earlier process left it. One timeout holds for all rounds;
    /// time in which a question or a reverse call is answered does not count. That time does count for the caller, unless the
    /// caller's own deadline is paused, too. A task has no timeout.
    /// caller's own deadline is paused too. A task has no timeout.
    pub(crate) async fn run(
        self,
        arguments: Map<String, Value>,
        resumes: Option<ResumePoint>,
    ) -> Result<UpstreamResult, UpstreamError> {
        let (call, limit, server) = (self.exchange.call().clone(), self.timeout, self.exchange.server());
        // Also held while a task is followed, because the task's server may call tools on it.
        let channel = self.connection.channels.acquire(&call).await;
        let (deadline, caller_limit) = (call.timeout.now() + limit, call.reverse_calls.caller_left());
        if caller_limit.is_zero() {
            return Err(UpstreamError::Timeout { server, limit: caller_limit });
        }
        let end = match resumes {
            Some(ResumePoint::Task { id, begun }) => RoundsEnd::Task(id, begun),
            parked => tokio::select! {
                biased;
                result = self.run_rounds(arguments, parked, channel.as_ref()) => result?,
                () = self.cancel.cancelled() => return Err(UpstreamError::Cancelled),
                () = call.timeout.reached(deadline) => {
                    return Err(UpstreamError::Timeout { server, limit });
                }
                () = call.reverse_calls.caller_ended() => {
                    return Err(UpstreamError::Timeout { server, limit: caller_limit });
                }
            },
        };
        match end {
            RoundsEnd::Done(result) => self.exchange.to_upstream_result(result),
            RoundsEnd::Task(id, begun) => {
                let unfollowed = (!self.leaves_task).then(|| self.exchange.cancel_on_drop(&id));
                let end = tokio::select! {
                    biased;
                    end = task::follow(&self.exchange, &id, begun, &self.cancel) => end,
                    () = call.reverse_calls.caller_ended() => {
                        return Err(UpstreamError::Timeout { server, limit: caller_limit });
                    }
                };
                unfollowed.into_iter().for_each(CancelTaskOnDrop::disarm);
                end
            }
        }
    }

    async fn run_rounds(
        &self,
        arguments: Map<String, Value>,
        parked: Option<ResumePoint>,
        channel: Option<&UpstreamChannel>,
    ) -> Result<RoundsEnd, UpstreamError> {
        let is_resumed = parked.is_some();
        let mut input = match parked {
            Some(point) => self.answer(point).await?,
            None => RoundInput::default(),
        };
        let mut has_begun = is_resumed;
        for round in 0..MAX_ROUNDS {
            let of_begun = |error| match error {
                // An earlier round was sent, so the call may have begun.
                UpstreamError::NotConnected { server, .. } if has_begun => UpstreamError::Lost { server },
                error => error,
            };
            let connection = self.current_connection().map_err(of_begun)?;
            let channel = channel.filter(|_| Arc::ptr_eq(&connection, &self.connection));
            let (request, meta) =
                self.request(&connection, arguments.clone(), input, channel.map(UpstreamChannel::name));
            self.exchange.call().unpark();
            let result = match self.exchange.send(&connection, request, meta).await {
                // The tool can only be called as a task, and nothing has run yet, so the call is made again as one.
                Err(UpstreamError::Refused { code: NO_TASKS, .. })
                    if !has_begun && connection.has_tasks && self.exchange.allow_task() =>
                {
                    input = RoundInput::default();
                    continue;
                }
                Err(UpstreamError::Refused { server, code, message })
                    if is_resumed && round == 0 && code == ErrorCode::INVALID_PARAMS.0 =>
                {
                    return Err(UpstreamError::Gone { server, message });
                }
                result => result.map_err(of_begun)?,
            };
            has_begun = true;
            match self.parse_result(result)? {
                RoundResult::Done(result) => return Ok(RoundsEnd::Done(result)),
                RoundResult::Task(id) => {
                    let point = ResumePoint::Task { id: id.clone(), begun: Vec::new() };
                    self.exchange.call().emit(UpstreamCallEvent::Resumable(Some(point)));
                    return Ok(RoundsEnd::Task(id, Vec::new()));
                }
                RoundResult::Parked(point) => {
                    self.exchange.call().park(point.clone());
                    input = self.answer(point).await?;
                }
            }
        }
        Err(UpstreamError::TooManyRounds { server: self.exchange.server(), limit: MAX_ROUNDS })
    }

    /// The connection of the call. A call that may become a task uses the next one if this one is lost while a person answers.
    fn current_connection(&self) -> Result<Arc<ServerConnection>, UpstreamError> {
        match self.exchange.may_become_task() && self.connection.lost.is_cancelled() {
            true => self.exchange.shared.connection(),
            false => Ok(self.connection.clone()),
        }
    }

    /// Answers what the call waits for.
    async fn answer(&self, point: ResumePoint) -> Result<RoundInput, UpstreamError> {
        match point {
            ResumePoint::Questions { requests, state } => {
                let requests: InputRequests = self.read(requests)?;
                let answers = self.exchange.answer_questions(requests).await?;
                Ok(RoundInput { answers: Some(answers), request_state: state, results: None })
            }
            ResumePoint::ReverseCalls { calls, continuation } => {
                let open = self.exchange.call();
                let calls: std::collections::BTreeMap<String, ReverseCallParams> = self.read(calls)?;
                let served = calls.into_iter().map(|(key, params)| async move {
                    (key, serve_reverse_call(open, params, ServedIn::Caller).await.into_value())
                });
                let results: Map<String, Value> = join_all(served).await.into_iter().collect();
                let results = json!({ "continuation": continuation, "results": results });
                Ok(RoundInput { results: Some(results), ..RoundInput::default() })
            }
            ResumePoint::Task { .. } => Err(self.malformed("a task in place of questions")),
        }
    }

    fn request(
        &self,
        connection: &ServerConnection,
        arguments: Map<String, Value>,
        input: RoundInput,
        channel: Option<&str>,
    ) -> (ClientRequest, RequestMetaObject) {
        let mut params = CallToolRequestParams::new(self.tool.clone());
        params.arguments = Some(arguments);
        (params.input_responses, params.request_state) = (input.answers, input.request_state);
        let call = self.exchange.call();
        let mut meta = RequestMetaObject::default();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                meta.insert(key.to_owned(), value);
            }
        };
        set(PARTIAL_RESULT_TOKEN_META, Some(call.key.into()));
        set(CORRELATION_META, call.correlation.clone().map(Value::from));
        set("traceparent", self.traceparent.clone().map(Value::from));
        set(protocol::names::CHAIN_META, self.chain.clone().map(Value::from));
        set(CLIENT_TOOLS, input.results);
        if connection.modern {
            set("io.modelcontextprotocol/logLevel", Some("info".into()));
            let lanes: &[&str] = if channel.is_some() { &["live", "retry"] } else { &["retry"] };
            let shared = self.exchange.shared;
            let offer = shared.offer.declaration(shared.name(), lanes, channel);
            self.exchange.declare(&mut meta, connection, offer);
        }
        (ClientRequest::CallToolRequest(CallToolRequest::new(params)), meta)
    }

    fn parse_result(&self, result: ServerResult) -> Result<RoundResult, UpstreamError> {
        match result {
            ServerResult::CallToolResult(result) => Ok(RoundResult::Done(result)),
            ServerResult::InputRequiredResult(result) => {
                let requests = result.input_requests.unwrap_or_default();
                if requests.len() > MAX_TOGETHER {
                    return Err(self.malformed(format!("{} questions at once", requests.len())));
                }
                if result.request_state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
                    return Err(self.malformed("a state that is too long"));
                }
                let requests = self.write(&requests)?;
                Ok(RoundResult::Parked(ResumePoint::Questions { requests, state: result.request_state }))
            }
            ServerResult::CustomResult(result) if result.0["resultType"] == CLIENT_TOOLS => {
                let Value::Object(mut result) = result.0 else {
                    return Err(self.malformed("a result that is not an object"));
                };
                let Some(Value::String(continuation)) = result.remove("continuation") else {
                    return Err(self.malformed("reverse calls without a continuation"));
                };
                let Some(Value::Object(calls)) = result.remove("toolCalls") else {
                    return Err(self.malformed("reverse calls in the wrong format"));
                };
                if calls.is_empty() || calls.len() > MAX_TOGETHER || continuation.len() > MAX_STATE {
                    return Err(self.malformed(format!("{} reverse calls at once", calls.len())));
                }
                Ok(RoundResult::Parked(ResumePoint::ReverseCalls { calls: calls.into(), continuation }))
            }
            ServerResult::CreateTaskResult(created) => {
                let id = created.task.task_id;
                if !self.exchange.may_become_task() || !self.connection.has_tasks {
                    return Err(self.malformed("a task, which was not requested"));
                }
                if id.is_empty() || id.len() > MAX_TASK_ID {
                    return Err(self.malformed("a task whose id is empty or too long"));
                }
                if let Some(meta) = created.meta {
                    self.exchange.call().read_call_id(&Value::Object(meta.0));
                }
                Ok(RoundResult::Task(id))
            }
            _ => Err(self.malformed("a result of another kind than a tool call's")),
        }
    }

    fn read<T: DeserializeOwned>(&self, value: Value) -> Result<T, UpstreamError> {
        serde_json::from_value(value).map_err(|error| self.malformed(format!("a malformed question or call: {error}")))
    }

    fn write(&self, value: &impl Serialize) -> Result<Value, UpstreamError> {
        serde_json::to_value(value).map_err(|error| self.malformed(format!("a malformed question: {error}")))
    }
}
