//! The answer of a user or a model to a question, as a transcript stores it.

use runtime::imports::{CheckedQuestion, ClientReply, Consent, Role, SampleAnswer, SampleContent, SampleMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Reply {
    /// A form that the user has filled in.
    Form(Value),
    /// The user goes to a page.
    Visit,
    Decline,
    Cancel,
    /// The text of a model.
    Model(String),
}

/// The reason when a model or a reviewer declines: a transcript does not store one.
const DECLINED: &str = "declined";

impl Reply {
    pub(super) fn answer(self, question: &CheckedQuestion) -> ClientReply {
        match (self, question) {
            (Self::Form(content), CheckedQuestion::Form { .. }) => ClientReply::Form(Consent::Accept, Some(content)),
            (Self::Decline, CheckedQuestion::Form { .. }) => ClientReply::Form(Consent::Decline, None),
            (Self::Cancel, CheckedQuestion::Form { .. }) => ClientReply::Form(Consent::Cancel, None),
            (Self::Visit, CheckedQuestion::Url { .. }) => ClientReply::Url(Consent::Accept),
            (Self::Decline, CheckedQuestion::Url { .. }) => ClientReply::Url(Consent::Decline),
            (Self::Cancel, CheckedQuestion::Url { .. }) => ClientReply::Url(Consent::Cancel),
            (Self::Decline, _) => ClientReply::Refused(DECLINED.into()),
            (Self::Model(text), CheckedQuestion::Sample(_)) => ClientReply::Sample(SampleAnswer {
                role: Role::Assistant,
                content: vec![SampleContent::Text(text)],
                model: "transcript".into(),
                stop_reason: None,
            }),
            _ => ClientReply::Failed("the transcript answers another kind of question here".into()),
        }
    }

    /// Converts the answer to a live question. The error says why a transcript cannot store it.
    pub(super) fn from_live(reply: &ClientReply) -> Result<Self, String> {
        match reply {
            ClientReply::Form(Consent::Accept, content) => Ok(Self::Form(content.clone().unwrap_or_else(|| json!({})))),
            ClientReply::Url(Consent::Accept) => Ok(Self::Visit),
            ClientReply::Form(Consent::Decline, _) | ClientReply::Url(Consent::Decline) => Ok(Self::Decline),
            ClientReply::Form(Consent::Cancel, _) | ClientReply::Url(Consent::Cancel) => Ok(Self::Cancel),
            ClientReply::Sample(answer) => Self::of_model(answer),
            ClientReply::Refused(reason) if reason == DECLINED => Ok(Self::Decline),
            ClientReply::Roots(_) => Err("a question was answered with roots, which a transcript cannot have".into()),
            ClientReply::Refused(reason) | ClientReply::Missing(reason) | ClientReply::Failed(reason) => {
                Err(format!("a question was not answered ({reason}), and a transcript has answers only"))
            }
        }
    }

    pub(super) fn of_model(answer: &SampleAnswer) -> Result<Self, String> {
        match &answer.content[..] {
            [SampleContent::Text(text)] => Ok(Self::Model(text.clone())),
            _ => Err("a model answered with more than a text, which a transcript cannot have".into()),
        }
    }
}

/// What a question says.
pub(super) fn message(question: &CheckedQuestion) -> String {
    match question {
        CheckedQuestion::Form { message, .. } | CheckedQuestion::Url { message, .. } => message.clone(),
        CheckedQuestion::Sample(request) => request.messages.last().map(said).unwrap_or_default(),
        CheckedQuestion::Roots => "roots".to_owned(),
    }
}

/// What a message to a model says.
pub(super) fn said(message: &SampleMessage) -> String {
    let text = |content: &SampleContent| match content {
        SampleContent::Text(text) => text.clone(),
        SampleContent::Image(_) => "[image]".into(),
        SampleContent::Audio(_) => "[audio]".into(),
        SampleContent::ToolUse(call) => format!("[calls {}]", call.name),
        SampleContent::ToolResult(_) => "[result]".into(),
    };
    message.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::{FormSchema, SampleRequest, ToolUse};

    #[test]
    fn what_is_recorded_answers_the_same() {
        let schema = FormSchema::new(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#).unwrap();
        let form = CheckedQuestion::Form { message: "?".into(), schema };
        let url = CheckedQuestion::Url { message: "?".into(), url: "https://a.example".into(), connect: None };
        let sample = CheckedQuestion::Sample(SampleRequest::default());
        for (question, reply) in [
            (&form, Reply::Form(json!({"a": "b"}))),
            (&form, Reply::Decline),
            (&form, Reply::Cancel),
            (&url, Reply::Visit),
            (&url, Reply::Decline),
            (&url, Reply::Cancel),
            (&sample, Reply::Model("yes".into())),
            (&sample, Reply::Decline),
        ] {
            assert_eq!(Reply::from_live(&reply.clone().answer(question)), Ok(reply));
        }
        assert!(matches!(Reply::Visit.answer(&form), ClientReply::Failed(_)));
    }

    #[test]
    fn what_a_transcript_cannot_have_is_refused() {
        let tool = SampleContent::ToolUse(ToolUse { id: "1".into(), name: "t".into(), input: "{}".into() });
        let answer = SampleAnswer { role: Role::Assistant, content: vec![tool], model: "m".into(), stop_reason: None };
        for reply in [ClientReply::Sample(answer), ClientReply::Roots(vec![]), ClientReply::Failed("gone".into())] {
            assert!(Reply::from_live(&reply).is_err(), "{reply:?}");
        }
    }
}
