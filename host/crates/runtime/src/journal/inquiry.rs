//! Finds out whether an effect that an earlier run has begun has happened.

use futures::future::BoxFuture;

/// Finds out about effects of which no outcome is recorded, and which are not to be made twice.
pub trait OutcomeInquiry: Send + Sync {
    /// Whether it is certain that the effect of this step has not happened.
    fn has_not_happened(&self, step: String, import: &'static str) -> BoxFuture<'static, bool>;
}
