//! What an open call sends to its server, and how the server's questions are answered.

use crate::api::call::UpstreamResult;
use crate::api::capabilities::to_client_capabilities;
use crate::api::error::UpstreamError;
use crate::connection::shared::{ServerConnection, UpstreamShared};
use crate::open_call::open_calls::{OpenCall, OpenCallGuard};
use crate::open_call::questions;
use protocol::names::{CLIENT_TOOLS, OWN_META_PREFIX, PRIVATE_META};
use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, InputRequests, InputResponses,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use runtime::imports::Content;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Questions or reverse calls at once.
pub(crate) const MAX_TOGETHER: usize = 64;
/// Size of a tool's result, in bytes. Bounds what a server makes us keep.
const MAX_RESULT: u64 = 8 << 20;

/// One open call and its server.
pub(crate) struct Exchange<'a> {
    pub(crate) shared: &'a Arc<UpstreamShared>,
    pub(crate) open_call: OpenCallGuard,
    pub(crate) may_become_task: AtomicBool,
}

impl Exchange<'_> {
    pub(crate) fn call(&self) -> &Arc<OpenCall> {
        self.open_call.call()
    }

    pub(crate) fn server(&self) -> String {
        self.shared.name().to_owned()
    }

    pub(crate) fn malformed(&self, what: impl Into<String>) -> UpstreamError {
        UpstreamError::Malformed { server: self.server(), what: what.into() }
    }

    pub(crate) fn may_become_task(&self) -> bool {
        self.may_become_task.load(Ordering::Relaxed)
    }

    /// From now on the call may become a task. Returns whether that is new.
    pub(crate) fn allow_task(&self) -> bool {
        !self.may_become_task.swap(true, Ordering::Relaxed)
    }

    /// Cancels a task when it is dropped, unless the task has ended.
    pub(crate) fn cancel_on_drop(&self, task: &str) -> CancelTaskOnDrop {
        let abilities = self.call().responder.abilities();
        let mut meta = RequestMetaObject::default();
        meta.set_client_capabilities(to_client_capabilities(abilities, None, true));
        CancelTaskOnDrop { shared: self.shared.clone(), cancel: Some((CancelTaskParams::new(task), meta)) }
    }

    /// Declares in `_meta` what this client can do for the call.
    pub(crate) fn declare(
        &self,
        meta: &mut RequestMetaObject,
        connection: &ServerConnection,
        offer: Option<Map<String, Value>>,
    ) {
        let tasks = self.may_become_task() && connection.has_tasks;
        meta.set_client_capabilities(to_client_capabilities(self.call().responder.abilities(), offer, tasks));
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request.
    pub(crate) async fn send(
        &self,
        connection: &ServerConnection,
        request: ClientRequest,
        meta: RequestMetaObject,
    ) -> Result<ServerResult, UpstreamError> {
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let failed = |error| self.failed(connection, error);
        let unsent = || UpstreamError::NotConnected { server: self.server(), reason: "the connection was lost".into() };
        let handle = connection.peer.send_cancellable_request(request, options).await.map_err(|error| match error {
            ServiceError::TransportClosed => unsent(),
            error => failed(error),
        })?;
        let id = handle.id.clone();
        // A request that the transport never got has not left this process.
        let lost = || match self.call().has_sent(&id) {
            true => UpstreamError::Lost { server: self.server() },
            false => unsent(),
        };
        let mut waiting = CancelOnDrop(Some(handle));
        let Some(handle) = waiting.0.as_mut() else { return Err(lost()) };
        let answered = tokio::select! {
            biased;
            answered = &mut handle.rx => Some(answered),
            () = connection.lost.cancelled() => None,
        };
        waiting.0 = None;
        match answered {
            Some(Ok(Ok(result))) => Ok(result),
            Some(Ok(Err(error))) => Err(failed(error)),
            Some(Err(_)) | None => Err(lost()),
        }
    }

    /// Sends a request about the call on the current connection, within the time limit of one request.
    pub(crate) async fn send_now(&self, request: ClientRequest) -> Result<ServerResult, UpstreamError> {
        self.send_with_outcomes(request, Map::new()).await
    }

    /// The same, with outcomes of reverse calls by their keys.
    pub(crate) async fn send_with_outcomes(
        &self,
        request: ClientRequest,
        outcomes: Map<String, Value>,
    ) -> Result<ServerResult, UpstreamError> {
        let connection = self.shared.connection()?;
        let mut meta = RequestMetaObject::default();
        if !outcomes.is_empty() {
            meta.insert(CLIENT_TOOLS.to_owned(), json!({ "results": outcomes }));
        }
        self.declare(&mut meta, &connection, self.shared.offer.declaration_for_tasks());
        let limit = self.shared.settings.request_timeout();
        match tokio::time::timeout(limit, self.send(&connection, request, meta)).await {
            Ok(result) => result,
            Err(_) => Err(UpstreamError::Timeout { server: self.server(), limit }),
        }
    }

    fn failed(&self, connection: &ServerConnection, error: ServiceError) -> UpstreamError {
        let is_of_transport = matches!(error, ServiceError::TransportSend(_));
        let error = self.shared.to_upstream_error(error);
        if is_of_transport || matches!(error, UpstreamError::Lost { .. }) {
            // Reconnects if the connection is really lost, or the server has forgotten it.
            connection.check_alive();
        }
        error
    }

    /// Answers questions together.
    pub(crate) async fn answer_questions(&self, requests: InputRequests) -> Result<InputResponses, UpstreamError> {
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

    pub(crate) fn to_upstream_result(&self, result: CallToolResult) -> Result<UpstreamResult, UpstreamError> {
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
        let meta = result.meta.map(|meta| meta.0).unwrap_or_default();
        let size = content.iter().map(Content::size).sum::<u64>()
            + structured.as_ref().map_or(0, |value| value.to_string().len() as u64)
            + meta.values().map(|value| value.to_string().len() as u64).sum::<u64>();
        if size > MAX_RESULT {
            return Err(UpstreamError::TooLarge { server: self.server(), limit: MAX_RESULT });
        }
        // Of the keys in the host's namespace only this one is believed, because it can only narrow: anybody can write them.
        let private = meta.get(PRIVATE_META) == Some(&Value::Bool(true));
        let is_error = result.is_error.unwrap_or_default();
        Ok(UpstreamResult { content, structured, is_error, private, meta: said(meta) })
    }
}

/// The part of a result's `_meta` that is passed on. Keys of the host's namespace are removed, and so are the protocol's own
/// keys, which are about this connection, not about that of the host's client.
pub(crate) fn said(mut meta: Map<String, Value>) -> Map<String, Value> {
    meta.retain(|key, _| !key.starts_with(OWN_META_PREFIX) && !key.starts_with("io.modelcontextprotocol/"));
    meta
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

/// A task that a call has become. Once the call is dropped, nobody follows the task any more, so it is cancelled.
pub(crate) struct CancelTaskOnDrop {
    shared: Arc<UpstreamShared>,
    cancel: Option<(CancelTaskParams, RequestMetaObject)>,
}

impl CancelTaskOnDrop {
    /// The task has ended and needs no cancellation.
    pub(crate) fn disarm(mut self) {
        self.cancel = None;
    }
}

impl Drop for CancelTaskOnDrop {
    fn drop(&mut self) {
        let (Some((params, meta)), Ok(runtime)) = (self.cancel.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let shared = self.shared.clone();
        runtime.spawn(async move {
            let Ok(connection) = shared.connection() else { return };
            let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(params));
            let options = PeerRequestOptions::no_options().with_meta(meta);
            let cancelling =
                async { connection.peer.send_cancellable_request(request, options).await?.await_response().await };
            if let Err(error) = shared.with_timeout(cancelling).await {
                tracing::debug!(server = shared.name(), "cannot cancel a task: {error}");
            }
        });
    }
}
