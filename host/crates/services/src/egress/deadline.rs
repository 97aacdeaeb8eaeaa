//! When a request to another server must be finished.

use runtime::imports::{Http, HttpError};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// The deadline of a request, redirects included.
#[derive(Clone, Copy)]
pub(super) struct RequestDeadline {
    pub(super) at: Instant,
    pub(super) timeout: Duration,
}

impl RequestDeadline {
    pub(super) fn after(time: Duration) -> Self {
        // Taken from the tokio clock, so that a test can pause it.
        Self { at: tokio::time::sleep(time).deadline(), timeout: time }
    }

    /// Moves the deadline forward if `time` from now is earlier.
    pub(super) fn shorten(&mut self, time: Duration) {
        let other = Self::after(time);
        if other.at < self.at {
            *self = other;
        }
    }

    /// Resolves when a connection to this host must be closed: at the deadline, when the call ends, or when it has seen
    /// something that must not flow there.
    pub(super) async fn passed_or_stopped(self, call: Http, host: String) {
        tokio::select! {
            () = tokio::time::sleep_until(self.at) => {}
            () = call.ended() => {}
            () = call.flow_withdrawn(&host) => {}
        }
    }

    pub(super) async fn limit<T>(&self, work: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
        tokio::time::timeout_at(self.at, work).await.unwrap_or(Err(HttpError::Timeout(self.timeout)))
    }
}
