//! Why a journaled call cannot go on.

use platform::durable::DurableError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalProblem {
    #[error(
        "the call cannot go on where it was: at step {step} it used to call {recorded}, and now it calls {now}{}; the plugin, its grants or its files have changed meanwhile",
        if recorded == now { " with other arguments" } else { "" }
    )]
    Diverged { step: String, recorded: String, now: String },
    #[error("the call cannot go on where it was: step {step} ({import}) needs {what}")]
    Lost { step: String, import: String, what: String },
    #[error(
        "it is unknown whether step {step} ({import}) has happened: the host ended after it was begun and before its outcome was stored. Look there before you call again"
    )]
    Unknown { step: String, import: String },
    #[error("it could not go on in another process, because {0}")]
    GaveUp(String),
    #[error("the journal of the call cannot be stored: {0}")]
    Store(String),
    #[error("step {0} of the journal cannot be read")]
    Unreadable(String),
}

impl JournalProblem {
    pub(super) fn store(error: DurableError) -> Self {
        match error {
            DurableError::Full(why) => Self::Store(why),
            other => Self::Store(other.to_string()),
        }
    }

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Diverged { .. } | Self::Lost { .. } => "diverged",
            Self::Unknown { .. } => "outcome-unknown",
            Self::GaveUp(_) => "not-replayable",
            Self::Store(_) | Self::Unreadable(_) => "journal-failed",
        }
    }
}
