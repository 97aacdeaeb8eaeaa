//! Questions that were put, for the record: their kinds and what became of them, never what was said.

use super::{Answer, Asked, Checked, ClientError, Decision, FormAnswer};
use crate::imports::Doing;
use platform::audit::{Event, Trail};

/// Questions that are being put together: recorded when they are answered, and when nobody waits any more.
pub(super) struct Putting {
    trail: Trail,
    kinds: Vec<&'static str>,
    outcomes: Vec<&'static str>,
    doing: Option<Doing>,
}

impl Putting {
    pub(super) fn new(trail: Trail, checked: &Checked) -> Self {
        let asked = checked.to_client.iter().map(|(at, _, asked)| (*at, asked.kind()));
        let of_model = checked.to_model.iter().map(|(at, _)| (*at, "sample"));
        let mut kinds: Vec<_> = asked.chain(of_model).collect();
        kinds.sort_by_key(|(at, _)| *at);
        let doing = kinds.first().map(|(_, kind)| {
            let method = method(kind);
            Doing::begin(&trail, method)
                .outward()
                .say("mcp.method.name", method)
                .say("portcullis.kind", *kind)
                .say("portcullis.questions", kinds.len() as u64)
        });
        Self { trail, kinds: kinds.into_iter().map(|(_, kind)| kind).collect(), outcomes: Vec::new(), doing }
    }

    /// This came of them.
    pub(super) fn answered(mut self, result: &Result<Vec<Answer>, ClientError>) {
        self.outcomes = match result {
            Ok(answers) => answers.iter().map(Answer::outcome).collect(),
            Err(error) => vec![error.name(); self.kinds.len()],
        };
        if let Some(doing) = self.doing.take() {
            // That somebody said no is an answer.
            doing.ended(result.as_ref().map_or_else(ClientError::name, |_| "ok"));
        }
    }
}

impl Drop for Putting {
    fn drop(&mut self) {
        let outcomes = std::mem::take(&mut self.outcomes).into_iter().chain(std::iter::repeat("cancelled"));
        for (kind, outcome) in self.kinds.iter().zip(outcomes) {
            self.trail.record(Event::Question { kind, outcome });
        }
    }
}

/// What a question is in MCP.
fn method(kind: &str) -> &'static str {
    match kind {
        "sample" => "sampling/createMessage",
        "roots" => "roots/list",
        _ => "elicitation/create",
    }
}

impl Asked {
    /// The kind's name, that of its grant.
    fn kind(&self) -> &'static str {
        match self {
            Self::Form { .. } => "form",
            Self::Url { connect: None, .. } => "url",
            Self::Url { connect: Some(_), .. } => "connect",
            Self::Sample(_) => "sample",
            Self::Roots => "roots",
        }
    }
}

impl Answer {
    /// What kind of answer it is.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Form(FormAnswer::Accepted(_)) | Self::Url(Decision::Accept) => "accept",
            Self::Form(FormAnswer::Declined) | Self::Url(Decision::Decline) => "decline",
            Self::Form(FormAnswer::Cancelled) | Self::Url(Decision::Cancel) => "cancel",
            Self::Sample(_) | Self::Roots(_) => "answered",
        }
    }
}

impl ClientError {
    /// A stable name of the kind of failure.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unsupported(_) | Self::NotOffered(_) => "unsupported",
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Declined(_) => "declined",
            Self::NotAnswered(_) => "not-answered",
            Self::Timeout(_) => "timeout",
            Self::Exhausted(_) => "exhausted",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}
