//! Checks a reply against its question.

use super::error::ClientError;
use super::question::{CheckedQuestion, ClientAnswer, ClientReply, Consent, FormAnswer};

/// A question that must be asked again.
pub(super) struct Unanswered {
    pub(super) reason: String,
    /// Whether the user is shown the reason.
    pub(super) show_user: bool,
}

/// The answer in a reply, or why to ask again.
pub(super) fn accept(
    asked: &CheckedQuestion,
    reply: ClientReply,
) -> Result<Result<ClientAnswer, Unanswered>, ClientError> {
    let again = |reason: String, show_user| Ok(Err(Unanswered { reason, show_user }));
    match (asked, reply) {
        (CheckedQuestion::Form { schema, .. }, ClientReply::Form(Consent::Accept, content)) => {
            let mut content = content.unwrap_or_else(|| serde_json::Value::Object(Default::default()));
            // The guest gets the same text, however a client orders the fields.
            content.sort_all_objects();
            match schema.check(&content) {
                Ok(()) => Ok(Ok(ClientAnswer::Form(FormAnswer::Accepted(content.to_string())))),
                Err(reason) => again(reason, true),
            }
        }
        (CheckedQuestion::Form { .. }, ClientReply::Form(Consent::Decline, _)) => {
            Ok(Ok(ClientAnswer::Form(FormAnswer::Declined)))
        }
        (CheckedQuestion::Form { .. }, ClientReply::Form(Consent::Cancel, _)) => {
            Ok(Ok(ClientAnswer::Form(FormAnswer::Cancelled)))
        }
        // On the wire both kinds of elicitation have the same kind of reply.
        (CheckedQuestion::Url { .. }, ClientReply::Url(decision) | ClientReply::Form(decision, _)) => {
            Ok(Ok(ClientAnswer::Url(decision)))
        }
        (CheckedQuestion::Sample(_), ClientReply::Sample(answer)) => Ok(Ok(ClientAnswer::Sample(answer))),
        (CheckedQuestion::Roots, ClientReply::Roots(roots)) => Ok(Ok(ClientAnswer::Roots(roots))),
        (_, ClientReply::Missing(reason)) => again(reason, false),
        (_, ClientReply::Refused(reason)) => Err(ClientError::Declined(reason)),
        (_, ClientReply::Failed(reason)) => Err(ClientError::Failed(reason)),
        _ => again("the client answered another kind of question".into(), false),
    }
}

/// Adds what was wrong with the last answer to the question's message.
pub(super) fn with_complaint(asked: CheckedQuestion, reason: &str) -> CheckedQuestion {
    const MARK: &str = "\n\nThe last answer was not accepted: ";
    match asked {
        CheckedQuestion::Form { message, schema } => {
            let first = message.split(MARK).next().unwrap_or_default();
            CheckedQuestion::Form { message: format!("{first}{MARK}{reason}"), schema }
        }
        CheckedQuestion::Url { message, url, connect: Some(name) } => {
            let first = message.split(MARK).next().unwrap_or_default();
            CheckedQuestion::Url { message: format!("{first}{MARK}{reason}"), url, connect: Some(name) }
        }
        other => other,
    }
}
