//! The rounds of one call: what a server asks or calls is answered, and the call goes on with that.

use super::call::Called;
use super::offer::{self, Wanted};
use super::open::{OpenCall, Opened};
use crate::UpstreamError;
use crate::{Link, Shared, declare, questions};
use futures::future::join_all;
use mcp::{self, CLIENT_TOOLS, CORRELATION, PARTIAL_RESULT_TOKEN};
use plugins::registry::PluginTool;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequests, InputResponses,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use runtime::imports::Content;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Rounds of one call. Bounds a server that never comes to an end; its reverse calls are counted besides.
const MAX_ROUNDS: u32 = 512;
/// Questions and reverse calls of one round.
const MAX_TOGETHER: usize = 64;
/// A name that a server gives a call that waits, in bytes: it is sent back as it is.
const MAX_STATE: usize = 64 << 10;
/// What a tool answers, in bytes. Bounds what is kept for whoever reads it.
const MAX_RESULT: u64 = 8 << 20;
/// `_meta` of a result that is kept.
const MAX_META: usize = 16 << 10;

/// What a round ended with.
enum Answer {
    Done(CallToolResult),
    Asks(InputRequests, Option<String>),
    Calls(Vec<(String, Wanted)>, String),
}

/// What the next round brings along.
#[derive(Default)]
struct Brought {
    answers: Option<InputResponses>,
    state: Option<String>,
    results: Option<Value>,
}

/// A call on its way.
pub(super) struct Rounds<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) link: Arc<Link>,
    pub(super) opened: Opened,
    pub(super) tool: Arc<PluginTool>,
    pub(super) timeout: Duration,
    pub(super) trace: Option<String>,
    pub(super) back: Option<String>,
}

impl Rounds<'_> {
    fn call(&self) -> &Arc<OpenCall> {
        self.opened.call()
    }

    fn server(&self) -> String {
        self.shared.name().to_owned()
    }

    fn malformed(&self, what: impl Into<String>) -> UpstreamError {
        UpstreamError::Malformed { server: self.server(), what: what.into() }
    }

    /// Until it is done.
    pub(super) async fn run(self, arguments: Map<String, Value>) -> Result<Called, UpstreamError> {
        let channel = self.link.channels.take(self.call()).await;
        let mut brought = Brought::default();
        for _ in 0..MAX_ROUNDS {
            let request = self.request(arguments.clone(), brought, channel.as_ref().map(|channel| channel.name()));
            match self.answer(self.send(request).await?)? {
                Answer::Done(result) => return self.done(result),
                Answer::Asks(requests, state) => {
                    let answers = self.answers(requests).await?;
                    brought = Brought { answers: Some(answers), state, results: None };
                }
                Answer::Calls(calls, continuation) => {
                    let open = self.call();
                    let served = calls
                        .into_iter()
                        .map(|(key, wanted)| async move { (key, offer::serve(open, wanted).await.into_value()) });
                    let results: Map<String, Value> = join_all(served).await.into_iter().collect();
                    let results = json!({ "continuation": continuation, "results": results });
                    brought = Brought { results: Some(results), ..Brought::default() };
                }
            }
        }
        Err(UpstreamError::Rounds { server: self.server(), limit: MAX_ROUNDS })
    }

    fn request(
        &self,
        arguments: Map<String, Value>,
        brought: Brought,
        channel: Option<&str>,
    ) -> (ClientRequest, RequestMetaObject) {
        let mut params = CallToolRequestParams::new(self.tool.tool.name.clone());
        params.arguments = Some(arguments);
        (params.input_responses, params.request_state) = (brought.answers, brought.state);
        let call = self.call();
        let mut meta = RequestMetaObject::default();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                meta.insert(key.to_owned(), value);
            }
        };
        set(PARTIAL_RESULT_TOKEN, Some(call.key.into()));
        set(CORRELATION, call.correlation.clone().map(Value::from));
        set("traceparent", self.trace.clone().map(Value::from));
        set("dev.portcullis/chain", self.back.clone().map(Value::from));
        set(CLIENT_TOOLS, brought.results);
        if self.link.modern {
            set("io.modelcontextprotocol/logLevel", Some("info".into()));
            let lanes: &[&str] = if channel.is_some() { &["live", "retry"] } else { &["retry"] };
            let offered = self.shared.offer.declaration(self.shared.name(), lanes, channel);
            meta.set_client_capabilities(declare::capabilities(call.voice.abilities(), offered));
        }
        (ClientRequest::CallToolRequest(CallToolRequest::new(params)), meta)
    }

    /// Sends a round and waits for its result. Dropped, it tells the server that nobody waits any more.
    async fn send(&self, (request, meta): (ClientRequest, RequestMetaObject)) -> Result<ServerResult, UpstreamError> {
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let sent = self.link.peer.send_cancellable_request(request, options).await;
        let mut waiting = Waiting(Some(sent.map_err(|error| self.failed(error))?));
        let lost = || UpstreamError::Lost { server: self.server() };
        loop {
            let Some(handle) = waiting.0.as_mut() else { return Err(lost()) };
            tokio::select! {
                biased;
                answered = &mut handle.rx => {
                    waiting.0 = None;
                    return match answered {
                        Ok(Ok(result)) => Ok(result),
                        Ok(Err(error)) => Err(self.failed(error)),
                        Err(_) => Err(lost()),
                    };
                }
                () = self.link.gone.cancelled() => {
                    waiting.0 = None;
                    return Err(lost());
                }
                () = tokio::time::sleep(self.timeout) => {
                    // Somebody thinks about a question: that is not the server's time.
                    if !self.call().is_answering() {
                        return Err(UpstreamError::Timeout { server: self.server(), limit: self.timeout });
                    }
                }
            }
        }
    }

    fn failed(&self, error: ServiceError) -> UpstreamError {
        let server = self.server();
        match error {
            ServiceError::McpError(error) => {
                let message = super::open::shortened(&error.message);
                UpstreamError::Refused { server, code: error.code.0, message }
            }
            ServiceError::Cancelled { .. } => UpstreamError::Cancelled,
            ServiceError::UnexpectedResponse => self.malformed("something that is no result"),
            other => {
                tracing::debug!(server, "lost: {other}");
                // The keeper makes a new connection, if this one is really gone.
                self.link.doubt();
                UpstreamError::Lost { server }
            }
        }
    }

    fn answer(&self, result: ServerResult) -> Result<Answer, UpstreamError> {
        match result {
            ServerResult::CallToolResult(result) => Ok(Answer::Done(result)),
            ServerResult::InputRequiredResult(result) => {
                let requests = result.input_requests.unwrap_or_default();
                if requests.len() > MAX_TOGETHER {
                    return Err(self.malformed(format!("{} questions at once", requests.len())));
                }
                if result.request_state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
                    return Err(self.malformed("a state that is too long"));
                }
                Ok(Answer::Asks(requests, result.request_state))
            }
            ServerResult::CustomResult(result) if result.0["resultType"] == CLIENT_TOOLS => {
                let Value::Object(mut result) = result.0 else { return Err(self.malformed("no object")) };
                let Some(Value::String(continuation)) = result.remove("continuation") else {
                    return Err(self.malformed("reverse calls without a continuation"));
                };
                let Some(Value::Object(calls)) = result.remove("toolCalls") else {
                    return Err(self.malformed("reverse calls that are none"));
                };
                if calls.is_empty() || calls.len() > MAX_TOGETHER || continuation.len() > MAX_STATE {
                    return Err(self.malformed(format!("{} reverse calls at once", calls.len())));
                }
                let wanted = |(key, value)| {
                    let wanted = serde_json::from_value(value);
                    wanted
                        .map(|wanted| (key, wanted))
                        .map_err(|error| self.malformed(format!("a reverse call: {error}")))
                };
                Ok(Answer::Calls(calls.into_iter().map(wanted).collect::<Result<_, _>>()?, continuation))
            }
            ServerResult::CreateTaskResult(_) => Err(self.malformed("a task, which was not asked for")),
            _ => Err(self.malformed("a result that tools do not have")),
        }
    }

    /// Answers questions, all of one round together.
    async fn answers(&self, requests: InputRequests) -> Result<InputResponses, UpstreamError> {
        let call = self.call();
        let _answering = call.answering();
        let unanswered = |reason: String| UpstreamError::Unanswered { server: self.server(), reason };
        let (mut answers, mut keys, mut asked) = (InputResponses::new(), Vec::new(), Vec::new());
        for (key, request) in requests {
            let declined = questions::declined(&request);
            match questions::asked(request) {
                Ok(question) => {
                    keys.push(key);
                    asked.push(question);
                }
                Err(reason) => {
                    tracing::warn!(
                        server = self.server(),
                        "a question is refused: {}",
                        super::open::shortened(&reason)
                    );
                    let answer = declined.ok_or_else(|| unanswered(reason))?;
                    answers.insert(key, answer);
                }
            }
        }
        if !asked.is_empty() {
            let replies = call.voice.ask(&call.from, asked).await;
            let replies = replies.map_err(|error| unanswered(mcp::client_error(&error)))?;
            for (key, reply) in keys.into_iter().zip(replies) {
                answers.insert(key, questions::result(reply).map_err(unanswered)?);
            }
        }
        Ok(answers)
    }

    fn done(&self, result: CallToolResult) -> Result<Called, UpstreamError> {
        let malformed = |what: String| self.malformed(format!("content that is not usable: {what}"));
        let content = result.content.into_iter().map(mcp::content).collect::<Result<Vec<_>, _>>().map_err(malformed)?;
        for piece in &content {
            piece.check().map_err(malformed)?;
        }
        let structured = result.structured_content;
        let size = content.iter().map(Content::size).sum::<u64>()
            + structured.as_ref().map_or(0, |value| value.to_string().len() as u64);
        if size > MAX_RESULT {
            return Err(UpstreamError::TooLarge { server: self.server(), limit: MAX_RESULT });
        }
        let mut meta = result.meta.map(|meta| meta.0).unwrap_or_default();
        let private = self.shared.settings.private || meta.get("dev.portcullis/private") == Some(&Value::Bool(true));
        let edited = meta.remove("dev.portcullis/edited").filter(|edited| edited.to_string().len() <= MAX_META);
        if serde_json::to_string(&meta).map_or(0, |text| text.len()) > MAX_META {
            meta = Map::new();
        }
        let is_error = result.is_error.unwrap_or_default();
        Ok(Called { content, structured, is_error, private, edited, meta })
    }
}

/// A request that waits. Dropped, it is cancelled.
struct Waiting(Option<RequestHandle<RoleClient>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(async move {
            // A server that is gone need not be told.
            let _ = handle.cancel(Some("nobody waits for the result any more".into())).await;
        });
    }
}
