//! The server's phases: which requests are accepted, and which ones shutdown waits for.

use crate::transport::responses::refusal::HttpRefusal;
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a subscription may take to end by itself when the server stops.
const SUBSCRIPTION_GRACE: Duration = Duration::from_millis(500);

/// How long a request waits for the server's start.
const START_PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::transport) enum ServerPhase {
    Starting,
    Ready,
    Stopping,
}

#[derive(Debug, Clone, Copy)]
struct LifecycleState {
    phase: ServerPhase,
    /// Shutdown waits until there are none.
    active_requests: usize,
}

/// Clones share their state.
#[derive(Clone)]
pub(in crate::transport) struct Lifecycle(Arc<watch::Sender<LifecycleState>>);

/// A request that shutdown waits for; it has ended when this is dropped.
pub(in crate::transport) struct ActiveRequest(Lifecycle);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.active_requests -= 1);
    }
}

impl Lifecycle {
    pub(in crate::transport) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(LifecycleState { phase: ServerPhase::Starting, active_requests: 0 })))
    }

    pub(in crate::transport) fn phase(&self) -> ServerPhase {
        self.0.borrow().phase
    }

    pub(in crate::transport) fn set_ready(&self) {
        self.0.send_modify(|state| state.phase = ServerPhase::Ready);
    }

    /// Starts the shutdown: no new work is accepted.
    pub(in crate::transport) fn stop(&self) {
        self.0.send_modify(|state| state.phase = ServerPhase::Stopping);
    }

    /// Waits until no request is active.
    pub(in crate::transport) async fn wait_idle(&self) {
        // The sender is in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|state| state.active_requests == 0).await;
    }

    /// Waits until the shutdown starts.
    pub(in crate::transport) async fn wait_stopping(&self) {
        let _ = self.0.subscribe().wait_for(|state| state.phase == ServerPhase::Stopping).await;
    }

    /// Accepts a request as [`Self::accept`] does. A request that comes while the server starts waits for the start, for a
    /// limited time, because some clients give up when their first request is refused.
    pub(in crate::transport) async fn accept_when_started(
        &self,
        helps_to_end: impl Fn() -> bool,
    ) -> Result<ActiveRequest, HttpRefusal> {
        match self.accept(&helps_to_end) {
            Err(HttpRefusal::Starting) => {
                let mut state = self.0.subscribe();
                let started = state.wait_for(|state| state.phase != ServerPhase::Starting);
                // If the server is still starting after that, the request is refused with this reason.
                let _ = tokio::time::timeout(START_PATIENCE, started).await;
                self.accept(helps_to_end)
            }
            accepted => accepted,
        }
    }

    /// Accepts a request. During shutdown, only requests that help active ones to end are accepted; `helps_to_end` is
    /// called only then, because it has to inspect the message.
    pub(in crate::transport) fn accept(&self, helps_to_end: impl Fn() -> bool) -> Result<ActiveRequest, HttpRefusal> {
        let mut refusal = None;
        self.0.send_if_modified(|state| {
            refusal = match state.phase {
                ServerPhase::Starting => Some(HttpRefusal::Starting),
                ServerPhase::Stopping if !helps_to_end() => Some(HttpRefusal::Stopping),
                ServerPhase::Stopping | ServerPhase::Ready => {
                    state.active_requests += 1;
                    None
                }
            };
            // Nobody waits for the count to rise.
            false
        });
        refusal.map_or_else(|| Ok(ActiveRequest(self.clone())), Err)
    }

    /// Keeps the request active until its response is sent. A body that is in memory as a whole counts as sent, because
    /// the connection closes only after it.
    pub(in crate::transport) fn hold_until_sent(request: ActiveRequest, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        if axum::body::HttpBody::size_hint(&body).exact().is_some() {
            return Response::from_parts(parts, body);
        }
        let body = body.into_data_stream().map(move |part| {
            let _sending = &request;
            part
        });
        Response::from_parts(parts, Body::from_stream(body))
    }

    /// Ends a long-lived stream when the server stops, instead of waiting for it.
    pub(in crate::transport) fn end_when_stopping(&self, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        let lifecycle = self.clone();
        let end = Box::pin(async move {
            lifecycle.wait_stopping().await;
            tokio::time::sleep(SUBSCRIPTION_GRACE).await;
        });
        Response::from_parts(parts, Body::from_stream(body.into_data_stream().take_until(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn a_request_waits_while_the_server_starts() {
        let lifecycle = Lifecycle::new();
        let mut early = Box::pin(lifecycle.accept_when_started(|| false));
        assert!((&mut early).now_or_never().is_none() && lifecycle.accept(|| true).is_err());
        lifecycle.set_ready();
        assert!(early.await.is_ok());
        lifecycle.stop();
        let late = lifecycle.accept_when_started(|| false).now_or_never();
        assert!(matches!(late, Some(Err(HttpRefusal::Stopping))), "nobody waits for a server that stops");
    }
}
