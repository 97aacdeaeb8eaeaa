//! A panic of the host's own code ends the one call it happens in: it is our fault, never the plugin's.

use super::error::CallError;
use futures::FutureExt;
use std::panic::AssertUnwindSafe;

/// Does the work; should it panic, that is an internal error of this call. Whatever the work holds is dropped on the way:
/// places, slots and records are given back as in any other end. Nothing of it is used afterwards, so it does not matter
/// in which state it was; what calls share is behind locks that are not poisoned.
pub fn caught<F: Future>(work: F) -> impl Future<Output = Result<F::Output, CallError>> + use<F> {
    // The panic itself was logged when it happened.
    AssertUnwindSafe(work).catch_unwind().map(|done| done.map_err(|_| CallError::Internal))
}
