//! Answers questions of servers: forms, pages, requests to a model, roots.

use super::request::{ApprovalDecision, ApprovalRequest};
use super::{Approvals, NOBODY};
use crate::address::PageAddress;
use crate::rules::{FormRule, PageRule, SamplingReview};
use platform::telemetry::printable;
use runtime::imports::{
    CheckedQuestion, ClientReply, Consent, FormSchema, Role, SampleAnswer, SampleContent, SampleMessage, SampleRequest,
};
use serde_json::{Map, Value};
use std::time::Duration;
use upstream::Requester;

/// Time limit for a model's answer. The model's own settings may be shorter.
const MODEL_TIMEOUT: Duration = Duration::from_secs(600);

impl Approvals {
    pub(super) async fn reply(&self, requester: &Requester, question: &CheckedQuestion) -> ClientReply {
        match question {
            CheckedQuestion::Form { message, schema } => self.form(requester, message, schema).await,
            CheckedQuestion::Url { message, url, .. } => self.page(requester, message, url).await,
            CheckedQuestion::Sample(request) => self.sample(requester, request).await,
            CheckedQuestion::Roots => {
                self.report_decision(
                    &requester.server,
                    "roots",
                    &format!("share {}", self.roots.len()),
                    "the user's list".into(),
                );
                ClientReply::Roots(self.roots.clone())
            }
        }
    }

    async fn form(&self, requester: &Requester, message: &str, schema: &FormSchema) -> ClientReply {
        let matched = self.rules.form(&requester.server);
        let (reply, source) = match matched.rule {
            FormRule::Decline => (ClientReply::Form(Consent::Decline, None), matched.source),
            // A rule with values is no consent to a form without fields, for which it was not written.
            FormRule::Answer(values) if schema.has_fields() || values.is_empty() => {
                let content = known_fields(&values, schema);
                match schema.check(&content) {
                    Ok(()) => (ClientReply::Form(Consent::Accept, Some(content)), matched.source),
                    Err(reason) => {
                        let source = format!("{}, whose answer does not match: {}", matched.source, printable(&reason));
                        (ClientReply::Form(Consent::Decline, None), source)
                    }
                }
            }
            FormRule::Answer(_) | FormRule::Ask => {
                let (message, schema) = (message.to_owned(), schema.clone());
                match self.ask_user(ApprovalRequest::Form { requester: requester.clone(), message, schema }).await {
                    Some(ApprovalDecision::WithValues(values)) => {
                        (ClientReply::Form(Consent::Accept, Some(Value::Object(values))), USER.into())
                    }
                    Some(ApprovalDecision::Allow) => (ClientReply::Form(Consent::Accept, None), USER.into()),
                    Some(ApprovalDecision::Cancel) => (ClientReply::Form(Consent::Cancel, None), USER.into()),
                    Some(_) => (ClientReply::Form(Consent::Decline, None), USER.into()),
                    None => (ClientReply::Form(Consent::Decline, None), NOBODY.into()),
                }
            }
        };
        let decision = match &reply {
            ClientReply::Form(Consent::Accept, _) => "answer",
            ClientReply::Form(Consent::Cancel, _) => "cancel",
            _ => "decline",
        };
        self.report_decision(&requester.server, "form", decision, source);
        reply
    }

    async fn page(&self, requester: &Requester, message: &str, url: &str) -> ClientReply {
        let address = match PageAddress::parse(url) {
            Ok(address) => address,
            Err(error) => {
                self.report_decision(&requester.server, "page", "decline", error.to_string());
                return ClientReply::Url(Consent::Decline);
            }
        };
        let subject = format!("page on {}", address.host);
        let matched = self.rules.page(&requester.server, &address.host);
        let (consent, source) = match matched.rule {
            PageRule::Decline => (Consent::Decline, matched.source),
            PageRule::Ask => {
                let request =
                    ApprovalRequest::Page { requester: requester.clone(), message: message.to_owned(), address };
                match self.ask_user(request).await {
                    Some(ApprovalDecision::Allow) => (Consent::Accept, USER.into()),
                    Some(ApprovalDecision::Cancel) => (Consent::Cancel, USER.into()),
                    Some(_) => (Consent::Decline, USER.into()),
                    None => (Consent::Decline, NOBODY.into()),
                }
            }
        };
        let decision = match consent {
            Consent::Accept => "open",
            Consent::Decline => "decline",
            Consent::Cancel => "cancel",
        };
        self.report_decision(&requester.server, &subject, decision, source);
        ClientReply::Url(consent)
    }

    async fn sample(&self, requester: &Requester, request: &SampleRequest) -> ClientReply {
        let matched = self.rules.sampling(&requester.server);
        let mut source = matched.source.clone();
        let result = self.reviewed_sample(requester, request, matched.rule, &mut source).await;
        let decision = match &result {
            Ok(_) => "answer".to_owned(),
            Err(reason) => format!("refuse: {reason}"),
        };
        self.report_decision(&requester.server, "request to a model", &decision, source);
        result.map_or_else(ClientReply::Refused, ClientReply::Sample)
    }

    async fn reviewed_sample(
        &self,
        requester: &Requester,
        request: &SampleRequest,
        review: SamplingReview,
        source: &mut String,
    ) -> Result<SampleAnswer, String> {
        if review == SamplingReview::Reject {
            return Err("the user's rules do not allow requests to a model".into());
        }
        let mut request = request.clone();
        let Some(model) = &self.model else {
            USER.clone_into(source);
            let request = ApprovalRequest::PromptWithoutModel { requester: requester.clone(), request };
            return match self.ask_user(request).await {
                Some(ApprovalDecision::WithText(text)) => Ok(user_answer(text)),
                Some(decision) => Err(refusal(decision)),
                None => Err(format!("{NOBODY}, and there is no model")),
            };
        };
        if review.is_before() {
            USER.clone_into(source);
            match self
                .ask_user(ApprovalRequest::Prompt { requester: requester.clone(), request: request.clone() })
                .await
            {
                Some(ApprovalDecision::Allow) => {}
                Some(ApprovalDecision::WithText(text)) => replace_last_message(&mut request, text),
                Some(decision) => return Err(refusal(decision)),
                None => return Err(format!("{NOBODY}, and the rules require a review of the request")),
            }
        }
        let mut answer = model.sample(&request, MODEL_TIMEOUT).await.map_err(|error| error.to_string())?.answer;
        if review.is_after() {
            USER.clone_into(source);
            match self
                .ask_user(ApprovalRequest::ModelAnswer { requester: requester.clone(), answer: answer.clone() })
                .await
            {
                Some(ApprovalDecision::Allow) => {}
                Some(ApprovalDecision::WithText(text)) => answer.content = vec![SampleContent::Text(text)],
                Some(decision) => return Err(refusal(decision)),
                None => return Err(format!("{NOBODY}, and the rules require a review of the answer")),
            }
        }
        Ok(answer)
    }
}

const USER: &str = "the user";

fn refusal(decision: ApprovalDecision) -> String {
    match decision {
        ApprovalDecision::Deny(reason) => reason,
        _ => "the user said no".into(),
    }
}

/// The user's answer in place of a model's.
fn user_answer(text: String) -> SampleAnswer {
    SampleAnswer {
        role: Role::Assistant,
        content: vec![SampleContent::Text(text)],
        model: "a person".into(),
        stop_reason: Some("endTurn".into()),
    }
}

/// Replaces the content of the last message.
fn replace_last_message(request: &mut SampleRequest, text: String) {
    let content = vec![SampleContent::Text(text)];
    match request.messages.last_mut() {
        Some(last) => last.content = content,
        None => request.messages.push(SampleMessage { role: Role::User, content }),
    }
}

/// The values for the fields that the form has.
fn known_fields(values: &Map<String, Value>, schema: &FormSchema) -> Value {
    let document: Value = serde_json::from_str(schema.text()).unwrap_or_default();
    let known = |name: &String| document["properties"].get(name).is_some();
    Value::Object(
        values.iter().filter(|(name, _)| known(name)).map(|(name, value)| (name.clone(), value.clone())).collect(),
    )
}
