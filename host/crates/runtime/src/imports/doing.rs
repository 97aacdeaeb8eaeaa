//! One thing that a guest has the host do, as a span below its call's: how large it was and what came of it, never what
//! was in it. What is cheap enough to be asked for by the thousand (log, chunks, progress, a look at the clock) has no
//! span: it is counted in the call's own.

use super::{AgentError, ClientError, ConnectionError, EventError, HttpError, PublishError, StateError};
use platform::audit::Trail;
use platform::telemetry::{Active, Attribute, Place};

/// Something that is being done. Its span ends with it; what was dropped before it had an outcome was cancelled.
#[must_use = "it is over when it is dropped"]
pub struct Doing(Option<Active>);

impl Doing {
    /// Begins; `name` is the interface and the function, such as `state.get`.
    pub fn begin(trail: &Trail, name: &'static str) -> Self {
        Self(trail.span(name))
    }

    /// Begins below something else that the call has done; the same as [`Self::begin`] where that has no span.
    pub fn below(trail: &Trail, name: &'static str, above: Option<Place>) -> Self {
        match above {
            Some(above) => Self(trail.span_below(name, above)),
            None => Self::begin(trail, name),
        }
    }

    /// It waits for somebody outside this process.
    pub fn outward(mut self) -> Self {
        self.0 = self.0.take().map(Active::outward);
        self
    }

    /// What it is done to, for its name: a word of the configuration or of a loaded plugin.
    pub fn of(mut self, subject: &str) -> Self {
        self.0 = self.0.take().map(|span| span.of(subject));
        self
    }

    /// Where its span stands, for what is done below it.
    pub fn place(&self) -> Option<Place> {
        self.0.as_ref().and_then(Active::place)
    }

    /// Something is known of it: a word of the configuration or of the code, or a number.
    pub fn say(mut self, name: &'static str, value: impl Into<Attribute>) -> Self {
        self.set(name, value);
        self
    }

    /// Likewise, while it goes on.
    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(span) = &mut self.0 {
            span.set(name, value);
        }
    }

    /// The guest gave it so many bytes.
    pub fn taking(self, bytes: u64) -> Self {
        self.say("portcullis.request.size", bytes)
    }

    /// It is over, and was so for the guest: `ok`, or a stable name of what went wrong.
    pub fn ended(mut self, outcome: &'static str) {
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: &'static str) {
        let Some(mut span) = self.0.take() else { return };
        span.set("portcullis.outcome", outcome);
        if outcome != "ok" {
            span.failed(outcome);
        }
    }

    /// It is over with this; `size` says how many bytes the guest gets.
    pub fn gave<T, E: Outcome>(mut self, result: Result<T, E>, size: impl FnOnce(&T) -> u64) -> Result<T, E> {
        if let Ok(value) = &result {
            self.set("portcullis.response.size", size(value));
        }
        self.ended(result.as_ref().map_or_else(Outcome::outcome, |_| "ok"));
        result
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        // Whoever waited is gone.
        self.finish("cancelled");
    }
}

/// What a failure is called in spans.
pub trait Outcome {
    /// A stable name of its kind.
    fn outcome(&self) -> &'static str;
}

impl Outcome for AgentError {
    fn outcome(&self) -> &'static str {
        self.name()
    }
}

impl Outcome for ClientError {
    fn outcome(&self) -> &'static str {
        self.name()
    }
}

impl Outcome for StateError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::Conflict => "conflict",
            Self::Failed(_) => "failed",
        }
    }
}

impl Outcome for PublishError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::NotFound => "not-found",
        }
    }
}

impl Outcome for EventError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
        }
    }
}

impl Outcome for ConnectionError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::NotConnected => "not-connected",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::Timeout(_) => "timeout",
            Self::Failed(_) => "failed",
        }
    }
}

impl Outcome for HttpError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Request(_) | Self::Header(..) => "invalid",
            Self::TooMany(_) | Self::RequestTooLarge(_) => "exhausted",
            Self::AnswerTooLarge(_) | Self::AnswerHeaders => "answer-too-large",
            Self::Compressed(_) => "answer-compressed",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Certificate(..) | Self::Tls(..) | Self::Handshake(..) => "tls",
            Self::Timeout(_) => "timeout",
            Self::Incomplete => "incomplete",
            Self::Protocol(_) => "protocol",
            Self::Ended => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}
