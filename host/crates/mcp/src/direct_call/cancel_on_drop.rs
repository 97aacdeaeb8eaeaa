//! Runs a call whose client may go away at any moment.

use tokio_util::sync::CancellationToken;

/// A running call. When this is dropped, the call is cancelled and ends in its own task, so that it is recorded with its cost.
pub(super) struct CancelOnDrop<F>
where
    F: Future<Output: Send> + Send + Unpin + 'static,
{
    call: Option<F>,
    cancel: CancellationToken,
}

impl<F> CancelOnDrop<F>
where
    F: Future<Output: Send> + Send + Unpin + 'static,
{
    /// `cancel` cancels the call.
    pub(super) fn new(call: F, cancel: CancellationToken) -> Self {
        Self { call: Some(call), cancel }
    }

    /// Runs the call, and cancels it when `end` is cancelled. None if it has finished before.
    pub(super) async fn finish(&mut self, end: &CancellationToken) -> Option<F::Output> {
        let call = self.call.as_mut()?;
        let finished = tokio::select! {
            biased;
            finished = &mut *call => finished,
            () = end.cancelled() => {
                self.cancel.cancel();
                call.await
            }
        };
        self.call = None;
        Some(finished)
    }
}

impl<F> Drop for CancelOnDrop<F>
where
    F: Future<Output: Send> + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        self.cancel.cancel();
        // If there is no runtime, the process is ending.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(call);
        }
    }
}
