//! The shutdown of the transport: running requests get some time to end by themselves, and are then cancelled.

use crate::transport::shutdown::DRAIN_TIMEOUT;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

/// How long requests may run that came together with the end of the input. A script does this: it sends requests, closes the
/// input and then reads.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time before the end of the input within which a request counts as having come with it.
const TOGETHER: Duration = Duration::from_millis(100);

pub(super) struct Shutdown {
    stop: CancellationToken,
    force_stop: CancellationToken,
    deadline: Option<Pin<Box<Sleep>>>,
    input_has_ended: bool,
}

impl Shutdown {
    /// The shutdown begins when `stop` is cancelled. With `force_stop`, running requests get no time.
    pub(super) fn new(stop: CancellationToken, force_stop: CancellationToken) -> Self {
        Self { stop, force_stop, deadline: None, input_has_ended: false }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether running requests are to be cancelled.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.as_ref().is_some_and(|deadline| deadline.is_elapsed() || self.is_forced())
    }

    fn is_forced(&self) -> bool {
        self.force_stop.is_cancelled() || self.input_has_ended && self.stop.is_cancelled()
    }

    /// A client that closes the input wants the server to end. `last` is how long ago it sent its last request.
    pub(super) fn input_has_ended(&mut self, last: Option<Duration>) {
        self.input_has_ended = true;
        let is_script = last.is_some_and(|last| last < TOGETHER);
        let timeout = if is_script { SCRIPT_TIMEOUT } else { Duration::ZERO };
        self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
    }

    /// Waits until the shutdown begins, or until its time is over.
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
            () = self.stop.cancelled(), if self.input_has_ended => {}
        }
    }
}
