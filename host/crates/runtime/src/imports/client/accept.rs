//! What can be said of a reply by looking at it and at its question.

use super::{Answer, Asked, ClientError, Decision, FormAnswer, Reply};

/// A question that is to be put again.
pub(super) struct Unanswered {
    pub(super) reason: String,
    /// Whether the user should be told why.
    pub(super) tell: bool,
}

/// The answer in a reply, if there is one.
pub(super) fn accept(asked: &Asked, reply: Reply) -> Result<Result<Answer, Unanswered>, ClientError> {
    let again = |reason: String, tell| Ok(Err(Unanswered { reason, tell }));
    match (asked, reply) {
        (Asked::Form { schema, .. }, Reply::Form(Decision::Accept, content)) => {
            let mut content = content.unwrap_or_else(|| serde_json::Value::Object(Default::default()));
            // A guest sees the same, whichever client it was and however that orders its fields.
            content.sort_all_objects();
            match schema.check(&content) {
                Ok(()) => Ok(Ok(Answer::Form(FormAnswer::Accepted(content.to_string())))),
                Err(reason) => again(reason, true),
            }
        }
        (Asked::Form { .. }, Reply::Form(Decision::Decline, _)) => Ok(Ok(Answer::Form(FormAnswer::Declined))),
        (Asked::Form { .. }, Reply::Form(Decision::Cancel, _)) => Ok(Ok(Answer::Form(FormAnswer::Cancelled))),
        // On the wire both kinds of elicitation have one kind of answer.
        (Asked::Url { .. }, Reply::Url(decision) | Reply::Form(decision, _)) => Ok(Ok(Answer::Url(decision))),
        (Asked::Sample(_), Reply::Sample(answer)) => Ok(Ok(Answer::Sample(answer))),
        (Asked::Roots, Reply::Roots(roots)) => Ok(Ok(Answer::Roots(roots))),
        (_, Reply::Missing(reason)) => again(reason, false),
        (_, Reply::Refused(reason)) => Err(ClientError::Declined(reason)),
        (_, Reply::Failed(reason)) => Err(ClientError::Failed(reason)),
        _ => again("the client answered another kind of question".into(), false),
    }
}

/// The question with what was wrong with its last answer.
pub(super) fn complained(asked: Asked, reason: &str) -> Asked {
    const MARK: &str = "\n\nThe last answer was not accepted: ";
    match asked {
        Asked::Form { message, schema } => {
            let first = message.split(MARK).next().unwrap_or_default();
            Asked::Form { message: format!("{first}{MARK}{reason}"), schema }
        }
        Asked::Url { message, url, connect: Some(name) } => {
            let first = message.split(MARK).next().unwrap_or_default();
            Asked::Url { message: format!("{first}{MARK}{reason}"), url, connect: Some(name) }
        }
        other => other,
    }
}
