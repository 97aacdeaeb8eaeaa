//! The rounds of one call: each round sends the answers to what the server asked or called in the round before.

use crate::call::UpstreamResult;
use crate::capabilities::to_client_capabilities;
use crate::error::UpstreamError;
use crate::open_calls::{OpenCall, OpenCallGuard};
use crate::questions;
use crate::reverse::serve_reverse_call;
use crate::reverse_calls::{ReverseCallParams, ServedIn};
use crate::shared::{Connection, UpstreamShared};
use futures::future::join_all;
use plugins::offer::PluginTool;
use protocol::names::{CLIENT_TOOLS, CORRELATION_META, PARTIAL_RESULT_TOKEN_META, PRIVATE_META};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequests, InputResponses,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use runtime::imports::Content;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Rounds of one call. Bounds a server that never finishes; its reverse calls have a limit of their own.
const MAX_ROUNDS: u32 = 512;
/// Questions or reverse calls in one round.
const MAX_TOGETHER: usize = 64;
/// Length of a `requestState` or a continuation, in bytes. Both are sent back unchanged.
const MAX_STATE: usize = 64 << 10;
/// Size of a tool's result, in bytes. Bounds what a server makes us keep.
const MAX_RESULT: u64 = 8 << 20;

/// The server's answer to one round.
enum RoundResult {
    Done(CallToolResult),
    /// Questions and the `requestState`.
    Questions(InputRequests, Option<String>),
    /// Reverse calls and the continuation.
    ReverseCalls(Vec<(String, ReverseCallParams)>, String),
}

/// The answers that the next round sends.
#[derive(Default)]
struct RoundInput {
    answers: Option<InputResponses>,
    request_state: Option<String>,
    results: Option<Value>,
}

/// A running call.
pub(super) struct CallRounds<'a> {
    pub(super) shared: &'a Arc<UpstreamShared>,
    pub(super) connection: Arc<Connection>,
    pub(super) open_call: OpenCallGuard,
    pub(super) tool: Arc<PluginTool>,
    pub(super) timeout: Duration,
    pub(super) traceparent: Option<String>,
    pub(super) chain: Option<String>,
}

impl CallRounds<'_> {
    fn call(&self) -> &Arc<OpenCall> {
        self.open_call.call()
    }

    fn server(&self) -> String {
        self.shared.name().to_owned()
    }

    fn malformed(&self, what: impl Into<String>) -> UpstreamError {
        UpstreamError::Malformed { server: self.server(), what: what.into() }
    }

    /// Runs the call to its end. Its timeout is one for all rounds; time in which a question or a reverse call is answered
    /// does not count for it. For the caller it does, except where the caller's own deadline is paused too.
    pub(super) async fn run(self, arguments: Map<String, Value>) -> Result<UpstreamResult, UpstreamError> {
        let (call, limit, server) = (self.call().clone(), self.timeout, self.server());
        let began = self.shared.clock.now();
        let (deadline, caller_limit) = (began + limit, call.reverse_calls.caller_left(began));
        tokio::select! {
            biased;
            result = self.run_rounds(arguments) => result,
            () = call.timeout.expired(deadline, Duration::ZERO) => Err(UpstreamError::Timeout { server, limit }),
            () = call.reverse_calls.caller_ended() => Err(UpstreamError::Timeout { server, limit: caller_limit }),
        }
    }

    async fn run_rounds(self, arguments: Map<String, Value>) -> Result<UpstreamResult, UpstreamError> {
        let channel = self.connection.channels.acquire(self.call()).await;
        let mut input = RoundInput::default();
        for _ in 0..MAX_ROUNDS {
            let request = self.request(arguments.clone(), input, channel.as_ref().map(|channel| channel.name()));
            match self.parse_result(self.send(request).await?)? {
                RoundResult::Done(result) => return self.to_upstream_result(result),
                RoundResult::Questions(requests, request_state) => {
                    let answers = self.answer_questions(requests).await?;
                    input = RoundInput { answers: Some(answers), request_state, results: None };
                }
                RoundResult::ReverseCalls(calls, continuation) => {
                    let open = self.call();
                    let served = calls.into_iter().map(|(key, params)| async move {
                        (key, serve_reverse_call(open, params, ServedIn::Caller).await.into_value())
                    });
                    let results: Map<String, Value> = join_all(served).await.into_iter().collect();
                    let results = json!({ "continuation": continuation, "results": results });
                    input = RoundInput { results: Some(results), ..RoundInput::default() };
                }
            }
        }
        Err(UpstreamError::TooManyRounds { server: self.server(), limit: MAX_ROUNDS })
    }

    fn request(
        &self,
        arguments: Map<String, Value>,
        input: RoundInput,
        channel: Option<&str>,
    ) -> (ClientRequest, RequestMetaObject) {
        let mut params = CallToolRequestParams::new(self.tool.tool.name.clone());
        params.arguments = Some(arguments);
        (params.input_responses, params.request_state) = (input.answers, input.request_state);
        let call = self.call();
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
        if self.connection.modern {
            set("io.modelcontextprotocol/logLevel", Some("info".into()));
            let lanes: &[&str] = if channel.is_some() { &["live", "retry"] } else { &["retry"] };
            let offer = self.shared.offer.declaration(self.shared.name(), lanes, channel);
            meta.set_client_capabilities(to_client_capabilities(call.responder.abilities(), offer));
        }
        (ClientRequest::CallToolRequest(CallToolRequest::new(params)), meta)
    }

    /// Sends a round and waits for its result. Dropping the future cancels the request.
    async fn send(&self, (request, meta): (ClientRequest, RequestMetaObject)) -> Result<ServerResult, UpstreamError> {
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let sent = self.connection.peer.send_cancellable_request(request, options).await;
        let mut waiting = CancelOnDrop(Some(sent.map_err(|error| self.failed(error))?));
        let lost = || UpstreamError::Lost { server: self.server() };
        let Some(handle) = waiting.0.as_mut() else { return Err(lost()) };
        let answered = tokio::select! {
            biased;
            answered = &mut handle.rx => Some(answered),
            () = self.connection.lost.cancelled() => None,
        };
        waiting.0 = None;
        match answered {
            Some(Ok(Ok(result))) => Ok(result),
            Some(Ok(Err(error))) => Err(self.failed(error)),
            Some(Err(_)) | None => Err(lost()),
        }
    }

    fn failed(&self, error: ServiceError) -> UpstreamError {
        let error = self.shared.to_upstream_error(error);
        if let UpstreamError::Lost { .. } = error {
            // Reconnects if the connection is really lost.
            self.connection.check_alive();
        }
        error
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
                Ok(RoundResult::Questions(requests, result.request_state))
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
                let parse = |(key, value)| match serde_json::from_value(value) {
                    Ok(params) => Ok((key, params)),
                    Err(error) => Err(self.malformed(format!("a malformed reverse call: {error}"))),
                };
                Ok(RoundResult::ReverseCalls(calls.into_iter().map(parse).collect::<Result<_, _>>()?, continuation))
            }
            ServerResult::CreateTaskResult(_) => Err(self.malformed("a task, which was not requested")),
            _ => Err(self.malformed("a result of another kind than a tool call's")),
        }
    }

    /// Answers all questions of one round together.
    async fn answer_questions(&self, requests: InputRequests) -> Result<InputResponses, UpstreamError> {
        let call = self.call();
        let _answering = call.answering();
        let unanswered = |reason: String| UpstreamError::Unanswered { server: self.server(), reason };
        let (mut answers, mut keys, mut checked) = (InputResponses::new(), Vec::new(), Vec::new());
        for (key, request) in requests {
            let decline = questions::decline(&request);
            match questions::check(request) {
                Ok(question) => {
                    keys.push(key);
                    checked.push(question);
                }
                Err(reason) => {
                    call.log_refused(&reason);
                    let answer = decline.ok_or_else(|| unanswered(reason))?;
                    answers.insert(key, answer);
                }
            }
        }
        if !checked.is_empty() {
            let replies = call.responder.ask(&call.requester, checked).await;
            let replies = replies.map_err(|error| unanswered(protocol::questions::describe_client_error(&error)))?;
            for (key, reply) in keys.into_iter().zip(replies) {
                answers.insert(key, questions::to_result(reply).map_err(unanswered)?);
            }
        }
        Ok(answers)
    }

    fn to_upstream_result(&self, result: CallToolResult) -> Result<UpstreamResult, UpstreamError> {
        let malformed = |what: String| self.malformed(format!("content that is not usable: {what}"));
        let content = result
            .content
            .into_iter()
            .map(protocol::content::from_block)
            .collect::<Result<Vec<_>, _>>()
            .map_err(malformed)?;
        for piece in &content {
            piece.check().map_err(malformed)?;
        }
        let structured = result.structured_content;
        let size = content.iter().map(Content::size).sum::<u64>()
            + structured.as_ref().map_or(0, |value| value.to_string().len() as u64);
        if size > MAX_RESULT {
            return Err(UpstreamError::TooLarge { server: self.server(), limit: MAX_RESULT });
        }
        // Of `_meta` only what narrows is believed: anybody can write our names there.
        let said_private = result.meta.is_some_and(|meta| meta.get(PRIVATE_META) == Some(&Value::Bool(true)));
        let is_error = result.is_error.unwrap_or_default();
        Ok(UpstreamResult { content, structured, is_error, private: said_private })
    }
}

/// A request that waits for its response. Cancelled when dropped.
struct CancelOnDrop(Option<RequestHandle<RoleClient>>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(async move {
            // A lost server needs no notification.
            let _ = handle.cancel(Some("nobody waits for the result any more".into())).await;
        });
    }
}
