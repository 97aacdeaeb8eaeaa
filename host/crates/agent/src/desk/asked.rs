//! Questions of servers: forms, pages, requests to a model, roots.

use super::{Desk, Matter, NOBODY, Ruling};
use crate::Address;
use crate::rules::{FormRule, PageRule, Review};
use platform::telemetry::printable;
use runtime::imports::{
    Asked, Decision, FormSchema, Reply, Role, SampleAnswer, SampleContent, SampleMessage, SampleRequest,
};
use serde_json::{Map, Value};
use std::time::Duration;
use upstream::Asker;

/// How long a model may take; its own settings say less.
const PATIENCE: Duration = Duration::from_secs(600);

impl Desk {
    pub(super) async fn reply(&self, from: &Asker, question: &Asked) -> Reply {
        match question {
            Asked::Form { message, schema } => self.form(from, message, schema).await,
            Asked::Url { message, url, .. } => self.page(from, message, url).await,
            Asked::Sample(request) => self.sample(from, request).await,
            Asked::Roots => {
                self.decided(&from.server, "roots", &format!("told {}", self.roots.len()), "the user's list".into());
                Reply::Roots(self.roots.clone())
            }
        }
    }

    async fn form(&self, from: &Asker, message: &str, schema: &FormSchema) -> Reply {
        let ruled = self.rules.form(&from.server);
        let (reply, by) = match ruled.what {
            FormRule::Decline => (Reply::Form(Decision::Decline, None), ruled.by),
            FormRule::Answer(values) => {
                let content = fields(&values, schema);
                match schema.check(&content) {
                    Ok(()) => (Reply::Form(Decision::Accept, Some(content)), ruled.by),
                    Err(reason) => {
                        let by = format!("{}, whose answer does not match: {}", ruled.by, printable(&reason));
                        (Reply::Form(Decision::Decline, None), by)
                    }
                }
            }
            FormRule::Ask => {
                let (message, schema) = (message.to_owned(), schema.clone());
                match self.put(Matter::Form { from: from.clone(), message, schema }).await {
                    Some(Ruling::Fill(values)) => {
                        (Reply::Form(Decision::Accept, Some(Value::Object(values))), USER.into())
                    }
                    Some(Ruling::Cancel) => (Reply::Form(Decision::Cancel, None), USER.into()),
                    Some(_) => (Reply::Form(Decision::Decline, None), USER.into()),
                    None => (Reply::Form(Decision::Decline, None), NOBODY.into()),
                }
            }
        };
        let verdict = match &reply {
            Reply::Form(Decision::Accept, _) => "answer",
            Reply::Form(Decision::Cancel, _) => "cancel",
            _ => "decline",
        };
        self.decided(&from.server, "form", verdict, by);
        reply
    }

    async fn page(&self, from: &Asker, message: &str, url: &str) -> Reply {
        let address = match Address::new(url) {
            Ok(address) => address,
            Err(error) => {
                self.decided(&from.server, "page", "decline", error.to_string());
                return Reply::Url(Decision::Decline);
            }
        };
        let about = format!("page on {}", address.host);
        let ruled = self.rules.page(&from.server, &address.host);
        let (decision, by) = match ruled.what {
            PageRule::Decline => (Decision::Decline, ruled.by),
            PageRule::Ask => {
                let matter = Matter::Page { from: from.clone(), message: message.to_owned(), address };
                match self.put(matter).await {
                    Some(Ruling::Allow) => (Decision::Accept, USER.into()),
                    Some(Ruling::Cancel) => (Decision::Cancel, USER.into()),
                    Some(_) => (Decision::Decline, USER.into()),
                    None => (Decision::Decline, NOBODY.into()),
                }
            }
        };
        let verdict = match decision {
            Decision::Accept => "open",
            Decision::Decline => "decline",
            Decision::Cancel => "cancel",
        };
        self.decided(&from.server, &about, verdict, by);
        Reply::Url(decision)
    }

    async fn sample(&self, from: &Asker, request: &SampleRequest) -> Reply {
        let ruled = self.rules.sampling(&from.server);
        let mut by = ruled.by.clone();
        let result = self.sampled(from, request, ruled.what, &mut by).await;
        let verdict = match &result {
            Ok(_) => "answer".to_owned(),
            Err(reason) => format!("refuse: {reason}"),
        };
        self.decided(&from.server, "request to a model", &verdict, by);
        result.map_or_else(Reply::Refused, Reply::Sample)
    }

    async fn sampled(
        &self,
        from: &Asker,
        request: &SampleRequest,
        review: Review,
        by: &mut String,
    ) -> Result<SampleAnswer, String> {
        if review == Review::Reject {
            return Err("the user's rules do not allow requests to a model".into());
        }
        let mut request = request.clone();
        let Some(model) = &self.model else {
            USER.clone_into(by);
            let matter = Matter::Completion { from: from.clone(), request };
            return match self.put(matter).await {
                Some(Ruling::Text(text)) => Ok(typed(text)),
                Some(ruling) => Err(refusal(ruling)),
                None => Err(format!("{NOBODY}, and there is no model")),
            };
        };
        if review.before() {
            USER.clone_into(by);
            match self.put(Matter::Prompt { from: from.clone(), request: request.clone() }).await {
                Some(Ruling::Allow) => {}
                Some(Ruling::Text(text)) => reword(&mut request, text),
                Some(ruling) => return Err(refusal(ruling)),
                None => return Err(format!("{NOBODY}, and the rules want the request to be looked at")),
            }
        }
        let mut answer = model.sample(&request, PATIENCE).await.map_err(|error| error.to_string())?.answer;
        if review.after() {
            USER.clone_into(by);
            match self.put(Matter::Answered { from: from.clone(), answer: answer.clone() }).await {
                Some(Ruling::Allow) => {}
                Some(Ruling::Text(text)) => answer.content = vec![SampleContent::Text(text)],
                Some(ruling) => return Err(refusal(ruling)),
                None => return Err(format!("{NOBODY}, and the rules want the answer to be looked at")),
            }
        }
        Ok(answer)
    }
}

const USER: &str = "the user";

fn refusal(ruling: Ruling) -> String {
    match ruling {
        Ruling::Deny(reason) => reason,
        _ => "the user said no".into(),
    }
}

/// What a person typed in place of a model.
fn typed(text: String) -> SampleAnswer {
    SampleAnswer {
        role: Role::Assistant,
        content: vec![SampleContent::Text(text)],
        model: "a person".into(),
        stop_reason: Some("endTurn".into()),
    }
}

/// Puts other words into the place of the last message's.
fn reword(request: &mut SampleRequest, text: String) {
    let content = vec![SampleContent::Text(text)];
    match request.messages.last_mut() {
        Some(last) => last.content = content,
        None => request.messages.push(SampleMessage { role: Role::User, content }),
    }
}

/// The values for those fields that the form has.
fn fields(values: &Map<String, Value>, schema: &FormSchema) -> Value {
    let document: Value = serde_json::from_str(schema.text()).unwrap_or_default();
    let known = |name: &String| document["properties"].get(name).is_some();
    Value::Object(
        values.iter().filter(|(name, _)| known(name)).map(|(name, value)| (name.clone(), value.clone())).collect(),
    )
}
