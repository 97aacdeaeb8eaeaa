//! The end of the transport: running requests may end by themselves for a while, and are cancelled then.

use crate::transport::shutdown::DRAIN_TIMEOUT;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

/// How long running requests may take after the end of the input. Their client can only read by then.
const ENDED_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Shutdown {
    stop: CancellationToken,
    force_stop: CancellationToken,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Shutdown {
    /// It begins when `stop` is cancelled. `force_stop` leaves running requests no time.
    pub(super) fn new(stop: CancellationToken, force_stop: CancellationToken) -> Self {
        Self { stop, force_stop, deadline: None }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether running requests are to be cancelled.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.as_ref().is_some_and(|deadline| deadline.is_elapsed() || self.force_stop.is_cancelled())
    }

    pub(super) fn input_has_ended(&mut self) {
        self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(ENDED_TIMEOUT)));
    }

    /// Waits until it begins, or until it is over.
    pub(super) async fn changed(&mut self) {
        if self.is_over() {
            return std::future::pending().await;
        }
        let Some(deadline) = &mut self.deadline else {
            self.stop.cancelled().await;
            self.deadline = Some(Box::pin(tokio::time::sleep(DRAIN_TIMEOUT)));
            return;
        };
        tokio::select! {
            () = deadline => {}
            () = self.force_stop.cancelled() => {}
        }
    }
}
