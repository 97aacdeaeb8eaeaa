//! Rules first, then what was decided before, then a person, and without one: no.

use super::*;
use crate::OpenCall;
use crate::{Action, InboxEvent};
use runtime::imports::{
    AgentTool, Decision, Execution, FormSchema, ModelError, Role, SampleAnswer, SampleContent, SampleMessage,
    SampleRequest, Sampled, Tokens, Tool, ToolAnnotations,
};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

fn parts(rules: &str, person: bool) -> DeskParts {
    let rules = Rules::parse(rules, "rules.toml", Path::new("")).unwrap();
    DeskParts { rules, memory: Arc::new(MemoryFile::none()), person, model: None, roots: vec![] }
}

fn asker() -> Asker {
    Asker { server: "demo".into(), plugin: Some("planner".into()), task: "t1".into() }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn request(tool: &str) -> ToolRequest {
    let arguments = object(json!({"day": "monday"}));
    ToolRequest { from: asker(), name: tool.into(), arguments, purpose: None, read_only: false }
}

/// Answers whatever comes to wait, in this order.
fn answering(desk: &Arc<Desk>, mut told: mpsc::Receiver<Notice>, rulings: Vec<Ruling>) -> tokio::task::JoinHandle<()> {
    let desk = desk.clone();
    tokio::spawn(async move {
        let mut rulings = rulings.into_iter();
        while let Some(notice) = told.recv().await {
            if let Notice::Waiting(id, _) = notice {
                let Some(ruling) = rulings.next() else { panic!("nothing more was to be asked") };
                desk.rule(Some(id), ruling).unwrap();
            }
        }
    })
}

#[tokio::test]
async fn without_a_person_what_no_rule_allows_is_declined_with_a_sentence() {
    let (desk, mut told) = Desk::new(parts("[[tool]]\ntool = \"free.*\"\napproval = \"never\"", false));
    assert_eq!(desk.approve(&request("free.slots")).await, Verdict::Allow);
    let Verdict::Deny(reason) = desk.approve(&request("other.tool")).await else { panic!("it was allowed") };
    assert!(reason.contains("nobody") && reason.contains("rule"), "{reason}");
    let Some(Notice::Decided { by, verdict, .. }) = told.recv().await else { panic!("nothing was said") };
    assert_eq!((by.as_str(), verdict.as_str()), ("line 1 of rules.toml", "allow"));
    assert!(!desk.abilities().form && !desk.abilities().sample);
}

#[tokio::test]
async fn a_person_allows_edits_and_denies() {
    let (desk, told) = Desk::new(parts("", true));
    let edited = object(json!({"day": "friday"}));
    let rulings = vec![Ruling::Allow, Ruling::Fill(edited.clone()), Ruling::Deny("not today".into())];
    answering(&desk, told, rulings);
    assert_eq!(desk.approve(&request("a.b")).await, Verdict::Allow);
    assert_eq!(desk.approve(&request("a.b")).await, Verdict::Edit(edited));
    assert_eq!(desk.approve(&request("a.b")).await, Verdict::Deny("not today".into()));
}

#[tokio::test]
async fn always_and_once_per_task_are_not_asked_again() {
    let (desk, told) = Desk::new(parts("[[tool]]\ntool = \"once.*\"\napproval = \"once-per-task\"", true));
    let open = OpenCall {
        correlation_id: "t1".into(),
        server: "demo".into(),
        tool: "plan".into(),
        arguments: None,
        call: None,
        approved: vec![],
        process: 0,
    };
    desk.memory().change(|memory| memory.calls.push(open)).unwrap();
    // Three rulings for nine calls.
    answering(&desk, told, vec![Ruling::Always, Ruling::Allow, Ruling::ThisTask]);
    for tool in ["always.x", "once.y", "task.z"] {
        for _ in 0..3 {
            assert_eq!(desk.approve(&request(tool)).await, Verdict::Allow, "{tool}");
        }
    }
    let memory = desk.memory().now();
    assert!(memory.approves("demo", "always.x") && !memory.approves("demo", "task.z"));
    assert_eq!(memory.calls[0].approved, ["once.y", "task.z"]);
}

#[tokio::test]
async fn one_yes_for_the_task_settles_all_that_wait_and_a_dropped_call_waits_no_more() {
    let (desk, mut told) = Desk::new(parts("", true));
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let desk = desk.clone();
            tokio::spawn(async move { desk.approve(&request("a.b")).await })
        })
        .collect();
    let other = tokio::spawn({
        let desk = desk.clone();
        async move { desk.approve(&request("c.d")).await }
    });
    for _ in 0..4 {
        assert!(matches!(told.recv().await, Some(Notice::Waiting(..))));
    }
    desk.rule(None, Ruling::ThisTask).unwrap();
    for task in waiting {
        assert_eq!(task.await.unwrap(), Verdict::Allow);
    }
    assert_eq!(desk.waiting().len(), 1, "the other tool still waits");
    other.abort();
    while !matches!(told.recv().await, Some(Notice::Withdrawn(_))) {}
    assert_eq!(desk.rule(None, Ruling::Allow).unwrap_err(), RulingError::Nothing);
}

struct Tools;

#[async_trait]
impl ToolCaller for Tools {
    fn tools(&self) -> Vec<AgentTool> {
        let input_schema = r#"{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}"#.into();
        let tool = Tool {
            name: "a.b".into(),
            title: None,
            description: String::new(),
            input_schema,
            output_schema: None,
            annotations: ToolAnnotations::default(),
            execution: Execution::Inline,
            icons: vec![],
        };
        vec![AgentTool { tool, origin: runtime::imports::Origin::Client }]
    }
    fn find(&self, _: &str) -> Result<runtime::imports::Origin, runtime::imports::AgentError> {
        Ok(runtime::imports::Origin::Client)
    }
    async fn call(
        &self,
        _: runtime::imports::ReverseCall,
    ) -> (Result<runtime::imports::AgentResult, runtime::imports::AgentError>, policy::Spent) {
        (Err(runtime::imports::AgentError::Cancelled), Default::default())
    }
}

#[tokio::test]
async fn edited_arguments_must_match_the_tools_schema() {
    let (desk, mut told) = Desk::new(parts("", true));
    desk.offer(Arc::new(Tools));
    let asking = tokio::spawn({
        let desk = desk.clone();
        async move { desk.approve(&request("a.b")).await }
    });
    assert!(matches!(told.recv().await, Some(Notice::Waiting(1, _))));
    let wrong = desk.rule(Some(1), Ruling::Fill(object(json!({"day": 3})))).unwrap_err();
    assert!(matches!(wrong, RulingError::Mismatch(_)), "{wrong}");
    assert!(matches!(desk.rule(Some(1), Ruling::Text("x".into())), Err(RulingError::Unsuitable(_))));
    assert_eq!(desk.rule(Some(9), Ruling::Allow).unwrap_err(), RulingError::Unknown(9));
    let right = object(json!({"day": "sunday"}));
    desk.rule(Some(1), Ruling::Fill(right.clone())).unwrap();
    assert_eq!(asking.await.unwrap(), Verdict::Edit(right));
}

fn form() -> Asked {
    let schema = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
    Asked::Form { message: "sure?".into(), schema: FormSchema::new(schema).unwrap() }
}

#[tokio::test]
async fn forms_and_pages_are_answered_by_rule_or_person() {
    let rule =
        "[[form]]\ndo = \"answer\"\nanswer = { ok = true, other = 1 }\n[[page]]\ndo = \"ask\"\nhosts = [\"good.org\"]";
    let (desk, _told) = Desk::new(parts(rule, false));
    assert_eq!(desk.answer(&asker(), &form()).await, Reply::Form(Decision::Accept, Some(json!({"ok": true}))));
    let page = |url: &str| Asked::Url { message: "open".into(), url: url.into(), connect: None };
    assert_eq!(
        desk.answer(&asker(), &page("https://good.org/")).await,
        Reply::Url(Decision::Decline),
        "nobody is there"
    );
    let (desk, told) = Desk::new(parts(rule, true));
    answering(&desk, told, vec![Ruling::Allow]);
    assert_eq!(desk.answer(&asker(), &page("https://good.org/")).await, Reply::Url(Decision::Accept));
    assert_eq!(desk.answer(&asker(), &page("https://evil.org/")).await, Reply::Url(Decision::Decline));
    assert_eq!(desk.answer(&asker(), &page("javascript:x")).await, Reply::Url(Decision::Decline));
    let (desk, told) = Desk::new(parts("", true));
    answering(&desk, told, vec![Ruling::Fill(object(json!({"ok": false}))), Ruling::Cancel]);
    assert_eq!(desk.answer(&asker(), &form()).await, Reply::Form(Decision::Accept, Some(json!({"ok": false}))));
    assert_eq!(desk.answer(&asker(), &form()).await, Reply::Form(Decision::Cancel, None));
}

/// Says what it was asked.
struct Echo;

#[async_trait]
impl ModelProvider for Echo {
    async fn sample(&self, request: &SampleRequest, _: Duration) -> Result<Sampled, ModelError> {
        let content = vec![request.messages[0].content[0].clone()];
        let answer = SampleAnswer { role: Role::Assistant, content, model: "echo".into(), stop_reason: None };
        Ok(Sampled { answer, tokens: Tokens::default() })
    }
}

fn sample() -> Asked {
    let content = vec![SampleContent::Text("original".into())];
    let messages = vec![SampleMessage { role: Role::User, content }];
    Asked::Sample(SampleRequest { messages, max_tokens: 10, ..SampleRequest::default() })
}

async fn sampled(rules: &str, model: bool, person: bool, rulings: Vec<Ruling>) -> Result<String, String> {
    let model = model.then(|| Arc::new(Echo) as Arc<dyn ModelProvider>);
    let (desk, told) = Desk::new(DeskParts { model, ..parts(rules, person) });
    answering(&desk, told, rulings);
    match desk.answer(&asker(), &sample()).await {
        Reply::Sample(answer) => match &answer.content[..] {
            [SampleContent::Text(text)] => Ok(text.clone()),
            other => panic!("{other:?}"),
        },
        Reply::Refused(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_person_looks_at_a_request_before_and_after() {
    let said = |text: &str| Ruling::Text(text.into());
    assert_eq!(sampled("", true, true, vec![Ruling::Allow, Ruling::Allow]).await.unwrap(), "original");
    assert_eq!(sampled("", true, true, vec![said("edited"), Ruling::Allow]).await.unwrap(), "edited");
    assert_eq!(sampled("", true, true, vec![Ruling::Allow, said("mine")]).await.unwrap(), "mine");
    assert_eq!(sampled("", true, true, vec![Ruling::Deny("no".into())]).await.unwrap_err(), "no");
    let only = |review: &str| format!("[[sampling]]\nreview = \"{review}\"");
    assert_eq!(sampled(&only("after"), true, true, vec![said("mine")]).await.unwrap(), "mine");
    assert_eq!(sampled(&only("none"), true, false, vec![]).await.unwrap(), "original");
    assert!(sampled(&only("reject"), true, true, vec![]).await.is_err());
    assert!(sampled("", true, false, vec![]).await.unwrap_err().contains("nobody"));
    assert_eq!(sampled("", false, true, vec![said("typed")]).await.unwrap(), "typed");
}

#[tokio::test]
async fn an_event_starts_something_only_with_consent() {
    let event = InboxEvent { id: "a-1".into(), name: "policy.effective".into(), payload: Value::Null, plugin: None };
    let happened = Happened { event, action: Action::Notify };
    let (desk, _told) = Desk::new(parts("", false));
    assert!(!desk.consents("hr", &happened).await);
    let (desk, _told) = Desk::new(parts("[[reaction]]\nevent = \"policy.*\"\napproval = \"never\"", false));
    assert!(desk.consents("hr", &happened).await);
    let (desk, told) = Desk::new(parts("", true));
    answering(&desk, told, vec![Ruling::Allow, Ruling::Deny("no".into())]);
    assert!(desk.consents("hr", &happened).await && !desk.consents("hr", &happened).await);
}
