//! Checks a reply against its question.

use super::error::ClientError;
use super::form::WrongAnswer;
use super::question::{CheckedQuestion, ClientAnswer, ClientReply, Consent, FormAnswer};

/// A question that must be asked again.
pub(super) struct Unanswered {
    pub(super) reason: String,
    /// Whether the user is shown the reason.
    pub(super) show_user: bool,
    /// Whether to ask for every value as text.
    pub(super) as_text: bool,
}

/// The answer in a reply, or why to ask again.
pub(super) fn accept(
    asked: &CheckedQuestion,
    reply: ClientReply,
) -> Result<Result<ClientAnswer, Unanswered>, ClientError> {
    let again = |reason: String, show_user| Ok(Err(Unanswered { reason, show_user, as_text: false }));
    match (asked, reply) {
        (CheckedQuestion::Form { schema, .. }, ClientReply::Form(Consent::Accept, content)) => {
            let mut content = content.unwrap_or_else(|| serde_json::Value::Object(Default::default()));
            // The guest gets the same text, however a client orders the fields.
            content.sort_all_objects();
            Ok(match schema.read(content) {
                Ok(content) => Ok(ClientAnswer::Form(FormAnswer::Accepted(content.to_string()))),
                Err(WrongAnswer { reason, lacks_typed }) => {
                    Err(Unanswered { reason, show_user: true, as_text: lacks_typed })
                }
            })
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

/// The question to ask again. It says what was wrong with the last answer, if the user is to be shown that.
pub(super) fn ask_again(
    asked: CheckedQuestion,
    Unanswered { reason, show_user, as_text }: &Unanswered,
) -> CheckedQuestion {
    const MARK: &str = "\n\nThe last answer was not accepted: ";
    match asked {
        asked if !show_user => asked,
        CheckedQuestion::Form { message, schema } => {
            let first = message.split(MARK).next().unwrap_or_default();
            let schema = if *as_text { schema.with_texts() } else { schema };
            CheckedQuestion::Form { message: format!("{first}{MARK}{reason}"), schema }
        }
        CheckedQuestion::Url { message, url, connect: Some(name) } => {
            let first = message.split(MARK).next().unwrap_or_default();
            CheckedQuestion::Url { message: format!("{first}{MARK}{reason}"), url, connect: Some(name) }
        }
        other => other,
    }
}
