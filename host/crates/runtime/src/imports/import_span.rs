//! The span of one import call, below the span of the guest's call: how large it was and how it ended, never its content.
//! Imports that are cheap enough to be called by the thousand (log, chunks, progress, clocks) have no span; they are
//! counted in the span of the call.

use platform::audit::CallAudit;
use platform::telemetry::{ActiveSpan, Attribute, SpanContext};

/// A running import call. If it is dropped without an outcome, the import call was cancelled.
#[must_use = "the span ends when this is dropped"]
pub struct ImportSpan(Option<ActiveSpan>);

impl ImportSpan {
    /// `name` is the interface and the function, such as `state.get`.
    pub fn start(audit: &CallAudit, name: &'static str) -> Self {
        Self(audit.span(name))
    }

    /// Starts below another import's span, or below the call's when that has none.
    pub fn start_below(audit: &CallAudit, name: &'static str, parent: Option<SpanContext>) -> Self {
        match parent {
            Some(parent) => Self(audit.span_below(name, parent)),
            None => Self::start(audit, name),
        }
    }

    /// Marks it as waiting for somebody outside this process.
    pub fn outward(mut self) -> Self {
        self.0 = self.0.take().map(ActiveSpan::outward);
        self
    }

    /// The parent for spans below this one.
    pub fn context(&self) -> Option<SpanContext> {
        self.0.as_ref().and_then(ActiveSpan::place)
    }

    /// The value is a word of the configuration or of the code, or a number; never a guest's text.
    pub fn with_attribute(mut self, name: &'static str, value: impl Into<Attribute>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets an attribute; see [`Self::with_attribute`].
    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(span) = &mut self.0 {
            span.set(name, value);
        }
    }

    /// Bytes that the guest passed in.
    pub fn with_request_size(self, bytes: u64) -> Self {
        self.with_attribute("portcullis.request.size", bytes)
    }

    /// Ends with `ok`, or with a stable name of what went wrong.
    pub fn finish(mut self, outcome: &'static str) {
        self.close(outcome);
    }

    fn close(&mut self, outcome: &'static str) {
        let Some(mut span) = self.0.take() else { return };
        span.set("portcullis.outcome", outcome);
        if outcome != "ok" {
            span.failed(outcome);
        }
    }

    /// Ends with this result; `size` is the number of bytes that the guest gets.
    pub fn finish_with<T, E: ErrorName>(mut self, result: Result<T, E>, size: impl FnOnce(&T) -> u64) -> Result<T, E> {
        if let Ok(value) = &result {
            self.set("portcullis.response.size", size(value));
        }
        self.finish(result.as_ref().map_or_else(ErrorName::error_name, |_| "ok"));
        result
    }
}

impl Drop for ImportSpan {
    fn drop(&mut self) {
        self.close("cancelled");
    }
}

/// An error with a stable name, for spans and audit records.
pub trait ErrorName {
    fn error_name(&self) -> &'static str;
}
