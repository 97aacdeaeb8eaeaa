//! The short way of the commonest request: a `tools/call` of 2026-07-28 whose client reads nothing before the result and
//! answers nothing. It is served where it arrives, without rmcp: parsed once, run on the task of its connection, the answer
//! written once.
//!
//! A request with anything else in it goes the ordinary way, which also words every refusal. Both ways end in the same
//! runner, which does not know which one it was.

mod headers;
mod message;
mod response;

use crate::request_context::MAX_CORRELATION;
use crate::requests::plain_call::PlainCall;
use crate::server_context::ServerContext;
use axum::http::HeaderMap;
use futures::future::BoxFuture;
use plugins::calls::{CallTarget, FinishedCall, PluginCall};
use policy::Principal;
use rmcp::model::RequestId;
use runtime::engine::{CallError, TaskOwner, catch_panic, work_in_pool_if_large};
use runtime::imports::CallContext;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) use response::DirectResponse;

/// A request that is served directly.
pub(crate) struct DirectCall {
    id: RequestId,
    context: CallContext,
    name: Arc<str>,
    target: CallTarget,
}

impl DirectCall {
    /// A request over HTTP. None if it has to go the ordinary way.
    pub(crate) fn from_http(
        server: &ServerContext,
        principal: Option<&Principal>,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<Self> {
        if !headers::are_plain(headers) {
            return None;
        }
        let message::Message { id, params: message::Params { name, arguments, meta }, .. } = message::parse(body)?;
        // One snapshot for all that is asked about the tool.
        let lists = server.lists();
        let catalog = &lists.catalog;
        let is_other = !headers::name_is(headers, name)
            || lists.reads_headers(name)
            || server.is_fallback_tool(name)
            || catalog.upstream_tool(name).is_some()
            || meta.correlation.as_ref().is_some_and(|id| id.len() > MAX_CORRELATION);
        if is_other {
            return None;
        }
        let entry = catalog.tool(name)?;
        let call = PluginCall::Tool(entry.tool().clone(), arguments.unwrap_or_default().into());
        let mut context = CallContext::new(principal.unwrap_or(&server.principal).clone());
        context.correlation_id = meta.correlation;
        context.traceparent = meta.traceparent;
        let target = CallTarget::Plugin(entry.plugin().clone(), call);
        Some(Self { id, context, name: name.into(), target })
    }

    /// Runs the call and writes its answer. `end` is cancelled when the server does not wait any longer.
    pub(crate) async fn run(self, server: &Arc<ServerContext>, end: &CancellationToken) -> DirectResponse {
        let Self { id, context, name, target } = self;
        let owner: TaskOwner = (context.principal.clone(), target.id().clone());
        let (call_id, correlation) = (context.id.clone(), context.correlation_id.clone());
        let cancel = CancellationToken::new();
        let plain = PlainCall { context, called: name, parent: None, cancel: cancel.clone() };
        let (registered, request, record) = plain.begin(server, &target);
        let runner = server.runner.clone();
        let call = Box::pin(catch_panic(async move {
            let _registered = registered;
            runner.run(target, request).await
        }));
        let mut running = CancelOnDrop { call: Some(call), cancel };
        let finished = running.finish(end).await;
        let bytes = finished.as_ref().map_or(0, |finished| finished.usage.output_bytes);
        let server = server.clone();
        let write = move || {
            let about = response::About { id, record, call: call_id, correlation };
            response::write(finished, &about, &server.server_info)
        };
        work_in_pool_if_large(bytes, || owner, write).await
    }
}

type RunningCall = BoxFuture<'static, Result<FinishedCall, CallError>>;

/// A running call. When its client goes away, it is cancelled and ends in a task of its own, so that it is recorded with its
/// cost.
struct CancelOnDrop {
    call: Option<RunningCall>,
    cancel: CancellationToken,
}

impl CancelOnDrop {
    async fn finish(&mut self, end: &CancellationToken) -> Result<FinishedCall, CallError> {
        let Some(call) = &mut self.call else { return Err(CallError::Internal) };
        let finished = tokio::select! {
            biased;
            finished = &mut *call => finished,
            () = end.cancelled() => {
                self.cancel.cancel();
                call.await
            }
        };
        self.call = None;
        finished
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        self.cancel.cancel();
        // Without a runtime, the process is ending.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(call);
        }
    }
}
