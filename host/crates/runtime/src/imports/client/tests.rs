//! Questions without wasm and without MCP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::super::call_scope::CallScope;
use super::super::connections::{Accounts, NoConnections};
use super::super::types::{BudgetKind, CallContext, Exhaustion, Role};
use super::*;
use crate::journal::CallJournal;
use async_trait::async_trait;
use platform::sync::Mutex;
use policy::{Authority, Limits, Lineage, PluginId, Side};
use serde_json::json;
use std::sync::Arc;

/// Answers from a script and remembers what was asked.
#[derive(Default)]
struct Script {
    abilities: Abilities,
    replies: Mutex<Vec<Vec<ClientReply>>>,
    seen: Mutex<Vec<Vec<String>>>,
}

#[async_trait]
impl ClientCalls for Script {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn ask(&self, inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let describe = |(key, asked): &(String, CheckedQuestion)| match asked {
            CheckedQuestion::Form { message, .. } => format!("{key}: {message}"),
            other => format!("{key}: {other:?}"),
        };
        self.seen.lock().push(inquiry.questions.iter().map(describe).collect());
        Ok(self.replies.lock().remove(0))
    }
}

const ALL: Abilities = Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true };

fn client(script: &Arc<Script>, requests: &str, grants: &str) -> Client {
    let plugin = PluginId { side: Side::Server, name: "p".into() };
    let authority = Authority::new(plugin, &toml::from_str(requests).unwrap(), &toml::from_str(grants).unwrap());
    let limits = Arc::new(Limits { questions: 6, ..Limits::default() });
    let lineage = Lineage::root("plugins.p.x", &limits);
    let scope = CallScope::new(CallContext::new("local"), Arc::new(authority), lineage, limits);
    let accounts = Accounts::new(scope.clone(), Arc::new(NoConnections), CallJournal::default());
    Client::new(scope, script.clone(), accounts, CallJournal::default())
}

fn exhausted(budget: BudgetKind, limit: u64) -> ClientError {
    ClientError::Exhausted(Exhaustion { budget, limit })
}

fn name_form() -> Question {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    Question::Form { message: "Who?".into(), schema: schema.into() }
}

fn accepted(content: serde_json::Value) -> ClientReply {
    ClientReply::Form(Consent::Accept, Some(content))
}

#[tokio::test]
async fn an_invalid_answer_is_asked_again_with_the_reason() {
    let script = Arc::new(Script { abilities: ALL, ..Script::default() });
    let mut client = client(&script, "client.form = true", "client.form = true");
    *script.replies.lock() = vec![
        vec![accepted(json!({"name": 1})), ClientReply::Form(Consent::Decline, None)],
        vec![ClientReply::Missing("nothing".into())],
        vec![accepted(json!({"name": "Ada"}))],
    ];
    let questions = vec![(Some("a".into()), name_form()), (None, name_form())];
    let answers = client.ask(questions).await.unwrap();
    let accepted = ClientAnswer::Form(FormAnswer::Accepted(r#"{"name":"Ada"}"#.into()));
    assert_eq!(answers, [accepted, ClientAnswer::Form(FormAnswer::Declined)]);
    let seen = script.seen.lock().clone();
    assert_eq!(seen[0], ["a: Who?", "question-2: Who?"]);
    assert!(seen[1][0].contains("The last answer was not accepted: /name: "), "{seen:?}");
    assert_eq!((seen[1].len(), seen[2].clone()), (1, seen[1].clone()));
    assert_eq!(client.asked, 4);
}

/// Some clients show no fields for numbers and lists, and send the form as accepted.
#[tokio::test]
async fn numbers_that_a_client_cannot_show_are_asked_for_as_text() {
    let script = Arc::new(Script { abilities: ALL, ..Script::default() });
    let mut client = client(&script, "client.form = true", "client.form = true");
    let nights = || {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#;
        vec![(None, Question::Form { message: "How long?".into(), schema: schema.into() })]
    };
    let three = [ClientAnswer::Form(FormAnswer::Accepted(r#"{"n":3}"#.into()))];
    *script.replies.lock() =
        vec![vec![accepted(json!({}))], vec![accepted(json!({"n": "0"}))], vec![accepted(json!({"n": "3"}))]];
    assert_eq!(client.ask(nights()).await.unwrap(), three);
    let seen = script.seen.lock().clone();
    assert!(seen[1][0].contains("required") && seen[2][0].contains("minimum"), "{seen:?}");
    // A call that another process takes up asks as at first, and has the answer to what was asked then.
    *script.replies.lock() = vec![vec![accepted(json!({"n": "3"}))]];
    assert_eq!(client.ask(nights()).await.unwrap(), three);
}

#[tokio::test]
async fn repeated_invalid_answers_end_the_question() {
    let script = Arc::new(Script { abilities: ALL, ..Script::default() });
    let mut client = client(&script, "client.form = true", "client.form = true");
    *script.replies.lock() = vec![vec![accepted(json!({}))]; 10];
    let error = client.ask(vec![(None, name_form())]).await.unwrap_err();
    assert!(matches!(error, ClientError::NotAnswered(reason) if reason.contains("required")));
    assert_eq!(client.asked, 4);
    let error = client.ask(vec![(None, name_form())]).await.unwrap_err();
    assert_eq!(error, exhausted(BudgetKind::Questions, 6));
}

#[tokio::test]
async fn nothing_is_asked_without_grant_or_ability() {
    let script = Arc::new(Script::default());
    let mut ungranted = client(&script, "client.form = true", "");
    let error = ungranted.ask(vec![(None, name_form())]).await.unwrap_err();
    let ClientError::Denied(denial) = error else { panic!("{error:?}") };
    assert_eq!((&*denial.target, &*denial.remedy), ("a form", policy::ASK_THE_USER));
    let mut unable = client(&script, "client.form = true", "client.form = true");
    let error = unable.ask(vec![(None, name_form())]).await.unwrap_err();
    assert_eq!(error, ClientError::Unsupported(Ability::Form));
    assert!(unable.lacked().form && script.seen.lock().is_empty());
}

#[tokio::test]
async fn sampling_is_capped_and_pages_are_checked() {
    let script = Arc::new(Script { abilities: ALL, ..Script::default() });
    let (requests, grants) = (
        "client.sample = true\nclient.url = true",
        "client.sample = { calls = 9, tokens = 150 }\nclient.url = [\"x.org\"]",
    );
    let mut client = client(&script, requests, grants);
    let message = SampleMessage { role: Role::User, content: vec![SampleContent::Text("hi".into())] };
    let request = SampleRequest { messages: vec![message], max_tokens: 100, ..SampleRequest::default() };
    let answer = SampleAnswer { role: Role::Assistant, content: vec![], model: "m".into(), stop_reason: None };
    *script.replies.lock() = vec![vec![ClientReply::Sample(answer.clone())]];
    let first = client.ask(vec![(None, Question::Sample(request.clone()))]).await.unwrap();
    assert_eq!(first, [ClientAnswer::Sample(answer)]);
    let second = client.ask(vec![(None, Question::Sample(request))]).await.unwrap_err();
    assert_eq!(second, exhausted(BudgetKind::Tokens, 150));
    for bad in ["http://x.org", "https://u:p@x.org", "javascript:alert(1)", "x.org", "file:///etc/passwd"] {
        let page = Question::Url { message: "Look".into(), target: UrlTarget::Address(bad.into()) };
        assert!(matches!(client.ask(vec![(None, page)]).await.unwrap_err(), ClientError::Invalid(_)), "{bad}");
    }
    let page = Question::Url { message: "Look".into(), target: UrlTarget::Address("https://x.org.evil.com".into()) };
    assert!(matches!(client.ask(vec![(None, page)]).await.unwrap_err(), ClientError::Denied(_)));
}
