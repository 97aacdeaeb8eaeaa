//! Turns a panic of the host's own code into an error of the one call it happens in.

use super::error::CallError;
use futures::FutureExt;
use std::panic::AssertUnwindSafe;

/// Runs a future; if it panics, the result is [`CallError::Internal`].
///
/// Everything the future holds is dropped by the unwinding: slots and records are given back as in any other end.
/// Unwind safety: nothing of the future is used afterwards, and every lock on shared state ignores poisoning.
pub fn catch_panic<F: Future>(future: F) -> impl Future<Output = Result<F::Output, CallError>> + use<F> {
    // The panic hook has logged the panic.
    AssertUnwindSafe(future).catch_unwind().map(|result| result.map_err(|_| CallError::Internal))
}
