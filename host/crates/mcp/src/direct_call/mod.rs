//! The direct way of the most common request, a `tools/call` of 2026-07-28 that gets only one response. It is served where it
//! arrives, without rmcp: parsed once, run on the task of its connection, and its response is serialized once. A question to
//! the client ends it.
//!
//! A request with anything else in it takes the ordinary way, which also words every refusal. Both ways meet in
//! `requests/round`, which does not know which of them a request took.

mod both_readings;
mod cancel_on_drop;
mod headers;
mod message;
mod response;
mod unread;

use crate::client::pending::ResumeToken;
use crate::client::served_request::ServedRequest;
use crate::client::view::RequestInput;
use crate::client_tools::{ReverseParams, retry};
use crate::listing::lists::CatalogLists;
use crate::request_context::MAX_CORRELATION;
use crate::requests::call_result::Remedies;
use crate::requests::round::{self, RoundOutcome, RoundRequest, RunningRound};
use crate::requests::task_call::{TaskAnswer, TaskFollower};
use crate::server_context::ServerContext;
use axum::http::HeaderMap;
use cancel_on_drop::CancelOnDrop;
use message::{Message, Params};
use plugins::calls::{CallTarget, PluginCall};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::RequestId;
use runtime::engine::{CallError, catch_panic, work_in_pool_if_large};
use runtime::imports::CallContext;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub use both_readings::read_both_ways;
pub(crate) use response::DirectResponse;

/// A request that is served directly. Its call has begun.
pub(crate) struct DirectCall {
    id: RequestId,
    round: RunningRound,
    cancel: CancellationToken,
    asks_usage: bool,
}

impl DirectCall {
    /// Begins a request over HTTP. None if it has to take the ordinary way; then nothing has begun.
    pub(crate) fn from_http(
        server: &Arc<ServerContext>,
        principal: Option<&Principal>,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<Self> {
        if !headers::are_plain(headers) {
            return None;
        }
        let message = message::parse(body)?;
        let (lists, name) = (server.lists(), message.params.name);
        if !headers::name_is(headers, name) || lists.reads_headers(name) {
            return None;
        }
        Self::begin(server, &lists, principal.unwrap_or(&server.principal), message, body)
    }

    /// Begins a request that is one line of a stream, if `may_use` accepts its id. None if it has to take the ordinary way;
    /// then nothing has begun.
    pub(crate) fn from_line(
        server: &Arc<ServerContext>,
        line: &[u8],
        may_use: impl FnOnce(&RequestId) -> bool,
    ) -> Option<Self> {
        let message = message::parse(line).filter(|message| may_use(&message.id))?;
        Self::begin(server, &server.lists(), &server.principal, message, line)
    }

    /// `lists` is one snapshot, which is used for all questions about the tool.
    fn begin(
        server: &Arc<ServerContext>,
        lists: &CatalogLists,
        principal: &Principal,
        message: Message<'_>,
        text: &[u8],
    ) -> Option<Self> {
        let Message { id, params, .. } = message;
        let Params { name, arguments, request_state, input_responses, meta } = params;
        let (abilities, asks_usage) = (meta.abilities()?, meta.asks_usage);
        let follower = TaskFollower::new(meta.declares_tasks(), server.fallback_tools, Remedies::Withheld);
        let catalog = &lists.catalog;
        let is_other = server.is_fallback_tool(name)
            || catalog.upstream_tool(name).is_some()
            || meta.correlation.as_ref().is_some_and(|id| id.len() > MAX_CORRELATION)
            // The call may ask for reverse calls in the next round, and then the transport has to rewrite its response.
            || request_state.is_some() && retry::names_extension(text);
        if is_other {
            return None;
        }
        let entry = catalog.tool(name)?;
        // An argument of the tool may be its idempotency key. For a key in `_meta`, `message` has already chosen the ordinary
        // way.
        if entry.plugin().spec.idempotency.contains_key(&*entry.tool().name) {
            return None;
        }
        let call = PluginCall::Tool(entry.tool().clone(), arguments.unwrap_or_default().into());
        let mut context = CallContext::new(principal.clone());
        context.correlation_id = meta.correlation;
        context.traceparent = meta.traceparent;
        let cancel = CancellationToken::new();
        let request = RoundRequest {
            method: "tools/call",
            name: name.into(),
            target: CallTarget::Plugin(entry.plugin().clone(), call),
            context,
            parent: None,
            resumes: request_state.map(|state| (state, ResumeToken::RequestState)),
            input: RequestInput::new(abilities, input_responses, ReverseParams::default()),
            served: ServedRequest::answered_once(cancel.clone()),
            follower,
            task: None,
        };
        let round = round::begin(server, request).ok()?;
        Some(Self { id, round, cancel, asks_usage })
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// Runs the call and makes its response. `end` is cancelled when the server stops waiting for running calls.
    pub(crate) async fn run(self, server: &Arc<ServerContext>, end: &CancellationToken) -> DirectResponse {
        let Self { id, round, cancel, asks_usage } = self;
        let mut running = CancelOnDrop::new(catch_panic(round), cancel);
        let ended = running.finish(end).await.unwrap_or(Err(CallError::Internal));
        let outcome = match ended.unwrap_or_else(|error| Err(ErrorData::internal_error(error.to_string(), None))) {
            Ok(RoundOutcome::Finished(finished, record) | RoundOutcome::GivenUp(finished, record)) => {
                (finished, record)
            }
            Ok(RoundOutcome::InputRequired(result)) => return response::write(&id, &result),
            Ok(RoundOutcome::Task(TaskAnswer::Created(task))) => return response::write(&id, &task),
            Ok(RoundOutcome::Task(TaskAnswer::Text(result))) => return response::write(&id, &result),
            Ok(RoundOutcome::NotBegun(error)) | Err(error) => return response::refuse(&id, error),
        };
        let (finished, record) = outcome;
        let (bytes, server, about) = (finished.usage.output_bytes, server.clone(), record.clone());
        let write = move || response::write_result(&id, finished, &record, &server.server_info, asks_usage);
        work_in_pool_if_large(bytes, || about.owner(), write).await
    }
}
