//! Asks a server for a resource, a prompt or completions. Like a call of a tool, but without tasks and reverse calls.

use crate::api::call::CallerScope;
use crate::api::error::UpstreamError;
use crate::calls::exchange::{Exchange, MAX_TOGETHER};
use crate::calls::invoke::{CallSide, open_exchange};
use crate::calls::request_answer::{ServerSaid, read_answer};
use crate::calls::rounds::{MAX_ROUNDS, MAX_STATE};
use crate::connection::shared::{ServerConnection, UpstreamShared};
use plugins::catalog::{ItemRequest, ServerAnswer};
use policy::BudgetUsage;
use protocol::names::{CHAIN_META, CORRELATION_META, PARTIAL_RESULT_TOKEN_META};
use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext, ErrorCode,
    GetPromptRequest, GetPromptRequestParams, InputResponses, ReadResourceRequest, ReadResourceRequestParams,
    Reference, RequestMetaObject, ServerResult,
};
use runtime::imports::CompletionTarget;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct ServerRequest {
    pub(crate) item: ItemRequest,
    /// The call that it belongs to.
    pub(crate) task: String,
    pub(crate) correlation: Option<String>,
    pub(crate) traceparent: Option<String>,
    /// Time limit, which does not count while a question is being answered.
    pub(crate) timeout: Duration,
}

/// Sends a request for a client, and also returns the cost of what the server made this host run. Cancelled when dropped.
pub(crate) async fn send_request(
    shared: &Arc<UpstreamShared>,
    request: ServerRequest,
    scope: CallerScope,
) -> (Result<ServerSaid, UpstreamError>, BudgetUsage) {
    let connection = match shared.connection() {
        Ok(connection) => connection,
        Err(error) => return (Err(error), BudgetUsage::default()),
    };
    if let Some(nothing) = unasked(&connection, &request.item) {
        return (Ok(ServerSaid { answer: nothing, meta: Map::new() }), BudgetUsage::default());
    }
    let CallSide { responder, scope, chain, forwarded } = CallSide::of_caller(shared, scope);
    let exchange = match open_exchange(shared, responder, scope, request.task, request.correlation) {
        Ok(exchange) => exchange,
        Err(error) => return (Err(error), BudgetUsage::default()),
    };
    let call = exchange.call().clone();
    let rounds = Rounds {
        exchange,
        connection,
        item: request.item,
        traceparent: request.traceparent,
        chain,
        timeout: request.timeout,
    };
    let said = match forwarded {
        Some((client, chunks)) => client.forward_chunks(chunks, rounds.run()).await,
        None => rounds.run().await,
    };
    (said, call.reverse_calls.used())
}

/// The answer for a server that declares nothing of the kind, and so is not asked.
fn unasked(connection: &ServerConnection, item: &ItemRequest) -> Option<ServerAnswer> {
    let info = connection.peer.peer_info();
    let declared = info.as_ref().map(|info| &info.capabilities);
    match item {
        ItemRequest::Resource { .. } => {
            declared.is_none_or(|all| all.resources.is_none()).then_some(ServerAnswer::Resource(None))
        }
        // The server has listed the prompt.
        ItemRequest::Prompt { .. } => None,
        ItemRequest::Completion(_) => {
            declared.is_none_or(|all| all.completions.is_none()).then(|| ServerAnswer::Completion(Default::default()))
        }
    }
}

struct Rounds<'a> {
    exchange: Exchange<'a>,
    connection: Arc<ServerConnection>,
    item: ItemRequest,
    traceparent: Option<String>,
    chain: Option<String>,
    timeout: Duration,
}

impl Rounds<'_> {
    async fn run(self) -> Result<ServerSaid, UpstreamError> {
        let (call, limit, server) = (self.exchange.call().clone(), self.timeout, self.exchange.server());
        let (deadline, caller_limit) = (call.timeout.now() + limit, call.reverse_calls.caller_left());
        if caller_limit.is_zero() {
            return Err(UpstreamError::Timeout { server, limit: caller_limit });
        }
        tokio::select! {
            biased;
            said = self.run_rounds() => said,
            () = call.timeout.reached(deadline) => Err(UpstreamError::Timeout { server, limit }),
            () = call.reverse_calls.caller_ended() => Err(UpstreamError::Timeout { server, limit: caller_limit }),
        }
    }

    async fn run_rounds(&self) -> Result<ServerSaid, UpstreamError> {
        let (mut answers, mut state) = (None, None);
        for _ in 0..MAX_ROUNDS {
            let (request, meta) = (self.request(answers.take(), state.take()), self.meta());
            match self.exchange.send(&self.connection, request, meta).await {
                Ok(ServerResult::InputRequiredResult(asked)) => {
                    let requests = asked.input_requests.unwrap_or_default();
                    if requests.len() > MAX_TOGETHER {
                        return Err(self.exchange.malformed(format!("{} questions at once", requests.len())));
                    }
                    if asked.request_state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
                        return Err(self.exchange.malformed("a state that is too long"));
                    }
                    answers = Some(self.exchange.answer_questions(requests).await?);
                    state = asked.request_state;
                }
                Ok(result) => return read_answer(&self.exchange, &self.item, result),
                Err(UpstreamError::Refused { code, .. }) if self.is_missing(code) => {
                    return Ok(ServerSaid { answer: ServerAnswer::Resource(None), meta: Map::new() });
                }
                Err(UpstreamError::Refused { code, message, .. }) if code == ErrorCode::INVALID_PARAMS.0 => {
                    return Err(UpstreamError::InvalidRequest { server: self.exchange.server(), message });
                }
                Err(error) => return Err(error),
            }
        }
        Err(UpstreamError::TooManyRounds { server: self.exchange.server(), limit: MAX_ROUNDS })
    }

    /// Whether the server reports that there is no such resource. Since 2026-07-28 it uses the code for an invalid parameter,
    /// and the URI is the only parameter.
    fn is_missing(&self, code: i32) -> bool {
        let is_resource = matches!(self.item, ItemRequest::Resource { .. });
        let says_so =
            code == ErrorCode::RESOURCE_NOT_FOUND.0 || self.connection.modern && code == ErrorCode::INVALID_PARAMS.0;
        is_resource && says_so
    }

    fn request(&self, answers: Option<InputResponses>, state: Option<String>) -> ClientRequest {
        match &self.item {
            ItemRequest::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri.clone());
                (params.input_responses, params.request_state) = (answers, state);
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            ItemRequest::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name.clone());
                let given = arguments.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
                params.arguments = (!arguments.is_empty()).then(|| given.collect());
                (params.input_responses, params.request_state) = (answers, state);
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            ItemRequest::Completion(query) => {
                let of = match &query.of {
                    CompletionTarget::Prompt(name) => Reference::for_prompt(name.clone()),
                    CompletionTarget::Template(template) => Reference::for_resource(template.clone()),
                };
                let argument = ArgumentInfo::new(query.argument.clone(), query.value.clone());
                let mut params = CompleteRequestParams::new(of, argument);
                if !query.context.is_empty() {
                    let mut context = CompletionContext::default();
                    context.arguments = Some(query.context.iter().cloned().collect());
                    params.context = Some(context);
                }
                ClientRequest::CompleteRequest(CompleteRequest::new(params))
            }
        }
    }

    fn meta(&self) -> RequestMetaObject {
        let mut meta = RequestMetaObject::default();
        let call = self.exchange.call();
        // By this token the request is recognised as part of the call.
        meta.insert(PARTIAL_RESULT_TOKEN_META.to_owned(), call.key.into());
        let texts =
            [(CORRELATION_META, &call.correlation), ("traceparent", &self.traceparent), (CHAIN_META, &self.chain)];
        for (key, text) in texts {
            if let Some(text) = text {
                meta.insert(key.to_owned(), text.as_str().into());
            }
        }
        if self.connection.modern {
            self.exchange.declare(&mut meta, &self.connection, None);
        }
        meta
    }
}
