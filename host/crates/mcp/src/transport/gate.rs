//! Starting, open, stopping: what is let in, what is waited for, and what `/health` and `/ready` say of it.

use super::refusal::{Refusal, json_response};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a subscription may take to say goodbye by itself when the server stops.
const GOODBYE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Starting,
    Open,
    Stopping,
}

#[derive(Debug, Clone, Copy)]
struct Now {
    phase: Phase,
    /// What must end before the server may.
    work: usize,
}

/// Clones are the same gate.
#[derive(Clone)]
pub(super) struct Gate(Arc<watch::Sender<Now>>);

/// Something that must end before the server may; it has when this is dropped.
pub(super) struct Work(Gate);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.0.send_modify(|now| now.work -= 1);
    }
}

impl Gate {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Now { phase: Phase::Starting, work: 0 })))
    }

    pub(super) fn open(&self) {
        self.0.send_modify(|now| now.phase = Phase::Open);
    }

    /// Begins the end: nothing new is let in.
    pub(super) fn stop(&self) {
        self.0.send_modify(|now| now.phase = Phase::Stopping);
    }

    /// Until all work is done.
    pub(super) async fn done(&self) {
        // The sender is in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|now| now.work == 0).await;
    }

    /// Until the end begins.
    pub(super) async fn stopping(&self) {
        let _ = self.0.subscribe().wait_for(|now| now.phase == Phase::Stopping).await;
    }

    /// Lets work in. What only `helps` running work to its end is let in while the server stops, too; to find that out
    /// takes a look at the message, which is not worth it before.
    pub(super) fn enter(&self, helps: impl Fn() -> bool) -> Result<Work, Refusal> {
        let mut refusal = None;
        self.0.send_if_modified(|now| {
            refusal = match now.phase {
                Phase::Starting => Some(Refusal::Starting),
                Phase::Stopping if !helps() => Some(Refusal::Stopping),
                Phase::Stopping | Phase::Open => {
                    now.work += 1;
                    None
                }
            };
            // Nobody waits for there to be more work.
            false
        });
        refusal.map_or_else(|| Ok(Work(self.clone())), Err)
    }

    /// The work is done when the body is sent. A body that is there as a whole is as good as sent: the connection is
    /// closed only after it.
    pub(super) fn until_sent(work: Work, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        if axum::body::HttpBody::size_hint(&body).exact().is_some() {
            return Response::from_parts(parts, body);
        }
        let body = body.into_data_stream().map(move |part| {
            let _sending = &work;
            part
        });
        Response::from_parts(parts, Body::from_stream(body))
    }

    /// A stream that lasts as long as the client likes is no work: it ends when the server stops.
    pub(super) fn until_stopping(&self, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        let gate = self.clone();
        let end = Box::pin(async move {
            gate.stopping().await;
            tokio::time::sleep(GOODBYE).await;
        });
        Response::from_parts(parts, Body::from_stream(body.into_data_stream().take_until(end)))
    }
}

/// The process is up.
pub(super) async fn health() -> Response {
    status(StatusCode::OK, "up")
}

/// Whether requests are served.
pub(super) async fn ready(State(gate): State<Gate>) -> Response {
    let phase = gate.0.borrow().phase;
    match phase {
        Phase::Starting => status(StatusCode::SERVICE_UNAVAILABLE, "starting"),
        Phase::Open => status(StatusCode::OK, "ready"),
        Phase::Stopping => status(StatusCode::SERVICE_UNAVAILABLE, "stopping"),
    }
}

fn status(status: StatusCode, word: &str) -> Response {
    let mut response = json_response(status, &json!({"status": word}));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
