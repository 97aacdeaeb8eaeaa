//! Rules decide first, then earlier decisions, then the user. Without a user the answer is no.

use super::*;
use crate::memory::UnfinishedCall;
use crate::reactions::{InboxEvent, ReactionAction};
use async_trait::async_trait;
use policy::Origin;
use runtime::imports::{
    AgentTool, CheckedQuestion, ClientReply, Consent, Execution, FormSchema, ModelAnswer, ModelError, Role,
    SampleAnswer, SampleContent, SampleMessage, SampleRequest, TokenUsage, Tool, ToolAnnotations,
};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;
use upstream::{AgentHandler, Requester, ResumePoint, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};

fn options(rules: &str, attended: bool) -> ApprovalsOptions {
    let rules = Rules::parse(rules, "rules.toml", Path::new("")).unwrap();
    ApprovalsOptions { rules, memory: Arc::new(MemoryFile::in_memory()), attended, model: None, roots: vec![] }
}

fn requester() -> Requester {
    Requester { server: "demo".into(), plugin: Some("planner".into()), task: "t1".into() }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn request(tool: &str) -> ReverseCallRequest {
    let arguments = object(json!({"day": "monday"}));
    let origin = Origin::Component("free".into());
    ReverseCallRequest { requester: requester(), name: tool.into(), arguments, purpose: None, read_only: false, origin }
}

/// Decides pending requests in this order.
fn decide_in_order(
    approvals: &Arc<Approvals>,
    mut events: mpsc::Receiver<AgentEvent>,
    decisions: Vec<ApprovalDecision>,
) -> tokio::task::JoinHandle<()> {
    let approvals = approvals.clone();
    tokio::spawn(async move {
        let mut decisions = decisions.into_iter();
        while let Some(event) = events.recv().await {
            if let AgentEvent::ApprovalRequested(id, _) = event {
                let Some(decision) = decisions.next() else { panic!("an unexpected request") };
                approvals.decide(Some(id), decision).unwrap();
            }
        }
    })
}

#[tokio::test]
async fn without_a_user_only_rules_allow_calls() {
    let (approvals, mut events) = Approvals::new(options("[[tool]]\ntool = \"free.*\"\napproval = \"allow\"", false));
    assert_eq!(approvals.approve(&request("free.slots")).await, ReverseCallDecision::Allow);
    let ReverseCallDecision::Deny(reason) = approvals.approve(&request("other.tool")).await else {
        panic!("it was allowed")
    };
    assert!(reason.contains("nobody") && reason.contains("rule"), "{reason}");
    let Some(AgentEvent::Decided { source, decision, .. }) = events.recv().await else { panic!("no event") };
    assert_eq!((source.as_str(), decision.as_str()), ("line 1 of rules.toml", "allow"));
    assert!(!approvals.abilities().form && !approvals.abilities().sample);
}

#[tokio::test]
async fn the_user_allows_edits_and_denies() {
    let (approvals, events) = Approvals::new(options("", true));
    let edited = object(json!({"day": "friday"}));
    let decisions = vec![
        ApprovalDecision::Allow,
        ApprovalDecision::WithValues(edited.clone()),
        ApprovalDecision::Deny("not today".into()),
    ];
    decide_in_order(&approvals, events, decisions);
    assert_eq!(approvals.approve(&request("a.b")).await, ReverseCallDecision::Allow);
    assert_eq!(approvals.approve(&request("a.b")).await, ReverseCallDecision::Edit(edited));
    assert_eq!(approvals.approve(&request("a.b")).await, ReverseCallDecision::Deny("not today".into()));
}

#[tokio::test]
async fn always_and_once_per_task_are_not_asked_again() {
    let (approvals, events) =
        Approvals::new(options("[[tool]]\ntool = \"once.*\"\napproval = \"once-per-task\"", true));
    let open = UnfinishedCall {
        correlation_id: "t1".into(),
        server: "demo".into(),
        tool: "plan".into(),
        ..UnfinishedCall::default()
    };
    approvals.memory().change(|memory| memory.calls.push(open)).unwrap();
    // Three decisions for nine calls.
    decide_in_order(
        &approvals,
        events,
        vec![ApprovalDecision::AllowAlways, ApprovalDecision::Allow, ApprovalDecision::AllowForTask],
    );
    for tool in ["always.x", "once.y", "task.z"] {
        for _ in 0..3 {
            assert_eq!(approvals.approve(&request(tool)).await, ReverseCallDecision::Allow, "{tool}");
        }
    }
    let memory = approvals.memory().get();
    assert!(memory.approves("demo", "always.x") && !memory.approves("demo", "task.z"));
    assert_eq!(memory.calls[0].approved, ["once.y", "task.z"]);
}

#[tokio::test]
async fn an_approval_for_the_task_decides_pending_calls_and_a_dropped_call_is_withdrawn() {
    let (approvals, mut events) = Approvals::new(options("", true));
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let approvals = approvals.clone();
            tokio::spawn(async move { approvals.approve(&request("a.b")).await })
        })
        .collect();
    let other = tokio::spawn({
        let approvals = approvals.clone();
        async move { approvals.approve(&request("c.d")).await }
    });
    for _ in 0..4 {
        assert!(matches!(events.recv().await, Some(AgentEvent::ApprovalRequested(..))));
    }
    approvals.decide(None, ApprovalDecision::AllowForTask).unwrap();
    for task in waiting {
        assert_eq!(task.await.unwrap(), ReverseCallDecision::Allow);
    }
    assert_eq!(approvals.pending_requests().len(), 1, "the other tool still waits");
    other.abort();
    while !matches!(events.recv().await, Some(AgentEvent::ApprovalWithdrawn(_))) {}
    assert_eq!(approvals.decide(None, ApprovalDecision::Allow).unwrap_err(), DecisionError::Nothing);
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
    async fn call(&self, _: runtime::imports::ReverseCall) -> runtime::imports::ReverseOutcome {
        runtime::imports::ReverseOutcome::unasked(runtime::imports::AgentError::Cancelled)
    }
}

#[tokio::test]
async fn edited_arguments_must_match_the_tools_schema() {
    let (approvals, mut events) = Approvals::new(options("", true));
    approvals.set_tools(Arc::new(Tools));
    let asking = tokio::spawn({
        let approvals = approvals.clone();
        async move { approvals.approve(&request("a.b")).await }
    });
    assert!(matches!(events.recv().await, Some(AgentEvent::ApprovalRequested(1, _))));
    let wrong = approvals.decide(Some(1), ApprovalDecision::WithValues(object(json!({"day": 3})))).unwrap_err();
    assert!(matches!(wrong, DecisionError::Mismatch(_)), "{wrong}");
    assert!(matches!(
        approvals.decide(Some(1), ApprovalDecision::WithText("x".into())),
        Err(DecisionError::Unsuitable(_))
    ));
    assert_eq!(approvals.decide(Some(9), ApprovalDecision::Allow).unwrap_err(), DecisionError::Unknown(9));
    let right = object(json!({"day": "sunday"}));
    approvals.decide(Some(1), ApprovalDecision::WithValues(right.clone())).unwrap();
    assert_eq!(asking.await.unwrap(), ReverseCallDecision::Edit(right));
}

fn form() -> CheckedQuestion {
    let schema = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
    CheckedQuestion::Form { message: "sure?".into(), schema: FormSchema::new(schema).unwrap() }
}

#[tokio::test]
async fn forms_and_pages_are_answered_by_rules_or_the_user() {
    let rule =
        "[[form]]\ndo = \"answer\"\nanswer = { ok = true, other = 1 }\n[[page]]\ndo = \"ask\"\nhosts = [\"good.org\"]";
    let (approvals, _told) = Approvals::new(options(rule, false));
    assert_eq!(
        approvals.answer(&requester(), &form()).await,
        ClientReply::Form(Consent::Accept, Some(json!({"ok": true})))
    );
    let page = |url: &str| CheckedQuestion::Url { message: "open".into(), url: url.into(), connect: None };
    assert_eq!(
        approvals.answer(&requester(), &page("https://good.org/")).await,
        ClientReply::Url(Consent::Decline),
        "nobody is there"
    );
    let (approvals, events) = Approvals::new(options(rule, true));
    decide_in_order(&approvals, events, vec![ApprovalDecision::Allow]);
    assert_eq!(approvals.answer(&requester(), &page("https://good.org/")).await, ClientReply::Url(Consent::Accept));
    assert_eq!(approvals.answer(&requester(), &page("https://evil.org/")).await, ClientReply::Url(Consent::Decline));
    assert_eq!(approvals.answer(&requester(), &page("javascript:x")).await, ClientReply::Url(Consent::Decline));
    let (approvals, events) = Approvals::new(options("", true));
    decide_in_order(
        &approvals,
        events,
        vec![ApprovalDecision::WithValues(object(json!({"ok": false}))), ApprovalDecision::Cancel],
    );
    assert_eq!(
        approvals.answer(&requester(), &form()).await,
        ClientReply::Form(Consent::Accept, Some(json!({"ok": false})))
    );
    assert_eq!(approvals.answer(&requester(), &form()).await, ClientReply::Form(Consent::Cancel, None));
}

/// A rule answers only what it was written for: values are no consent to a form without fields, but an empty answer is.
#[tokio::test]
async fn only_the_user_says_yes_to_a_form_without_fields() {
    let schema = FormSchema::new(r#"{"type":"object","properties":{}}"#).unwrap();
    let sure = CheckedQuestion::Form { message: "Sure?".into(), schema };
    let rule = "[[form]]\ndo = \"answer\"\nanswer = { ok = true }\n";
    let (approvals, _) = Approvals::new(options(rule, false));
    assert_eq!(approvals.answer(&requester(), &sure).await, ClientReply::Form(Consent::Decline, None));
    let (approvals, _) = Approvals::new(options("[[form]]\ndo = \"answer\"\nanswer = {}\n", false));
    assert_eq!(approvals.answer(&requester(), &sure).await, ClientReply::Form(Consent::Accept, Some(json!({}))));
    let (approvals, events) = Approvals::new(options(rule, true));
    let deny = ApprovalDecision::Deny("no".into());
    decide_in_order(&approvals, events, vec![ApprovalDecision::Allow, deny, ApprovalDecision::Cancel]);
    for expected in [
        ClientReply::Form(Consent::Accept, None),
        ClientReply::Form(Consent::Decline, None),
        ClientReply::Form(Consent::Cancel, None),
    ] {
        assert_eq!(approvals.answer(&requester(), &sure).await, expected);
    }
}

/// A model that answers with its prompt.
struct Echo;

#[async_trait]
impl ModelProvider for Echo {
    async fn sample(&self, request: &SampleRequest, _: Duration) -> Result<ModelAnswer, ModelError> {
        let content = vec![request.messages[0].content[0].clone()];
        let answer = SampleAnswer { role: Role::Assistant, content, model: "echo".into(), stop_reason: None };
        Ok(ModelAnswer { answer, tokens: TokenUsage::default() })
    }
}

fn sample() -> CheckedQuestion {
    let content = vec![SampleContent::Text("original".into())];
    let messages = vec![SampleMessage { role: Role::User, content }];
    CheckedQuestion::Sample(SampleRequest { messages, max_tokens: 10, ..SampleRequest::default() })
}

async fn sampled(rules: &str, model: bool, attended: bool, decisions: Vec<ApprovalDecision>) -> Result<String, String> {
    let model = model.then(|| Arc::new(Echo) as Arc<dyn ModelProvider>);
    let (approvals, events) = Approvals::new(ApprovalsOptions { model, ..options(rules, attended) });
    decide_in_order(&approvals, events, decisions);
    match approvals.answer(&requester(), &sample()).await {
        ClientReply::Sample(answer) => match &answer.content[..] {
            [SampleContent::Text(text)] => Ok(text.clone()),
            other => panic!("{other:?}"),
        },
        ClientReply::Refused(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_user_reviews_a_request_and_its_answer() {
    let text = |text: &str| ApprovalDecision::WithText(text.into());
    assert_eq!(
        sampled("", true, true, vec![ApprovalDecision::Allow, ApprovalDecision::Allow]).await.unwrap(),
        "original"
    );
    assert_eq!(sampled("", true, true, vec![text("edited"), ApprovalDecision::Allow]).await.unwrap(), "edited");
    assert_eq!(sampled("", true, true, vec![ApprovalDecision::Allow, text("mine")]).await.unwrap(), "mine");
    assert_eq!(sampled("", true, true, vec![ApprovalDecision::Deny("no".into())]).await.unwrap_err(), "no");
    let only = |review: &str| format!("[[sampling]]\nreview = \"{review}\"");
    assert_eq!(sampled(&only("after"), true, true, vec![text("mine")]).await.unwrap(), "mine");
    assert_eq!(sampled(&only("none"), true, false, vec![]).await.unwrap(), "original");
    assert!(sampled(&only("reject"), true, true, vec![]).await.is_err());
    assert!(sampled("", true, false, vec![]).await.unwrap_err().contains("nobody"));
    assert_eq!(sampled("", false, true, vec![text("typed")]).await.unwrap(), "typed");
}

#[tokio::test]
async fn an_event_starts_a_call_only_with_approval() {
    let event = InboxEvent { id: "a-1".into(), name: "policy.effective".into(), payload: Value::Null, plugin: None };
    let triggered = TriggeredReaction { event, action: ReactionAction::Notify };
    let (approvals, _told) = Approvals::new(options("", false));
    assert!(!approvals.may_react("hr", &triggered).await);
    let (approvals, _told) = Approvals::new(options("[[reaction]]\nevent = \"policy.*\"\napproval = \"allow\"", false));
    assert!(approvals.may_react("hr", &triggered).await);
    let (approvals, events) = Approvals::new(options("", true));
    decide_in_order(&approvals, events, vec![ApprovalDecision::Allow, ApprovalDecision::Deny("no".into())]);
    assert!(approvals.may_react("hr", &triggered).await && !approvals.may_react("hr", &triggered).await);
}

fn ended(text: &str) -> CallOutcome {
    let content = vec![runtime::imports::Content::text(text)];
    CallOutcome { content, structured: None, is_error: false }
}

#[tokio::test]
async fn a_task_is_kept_until_its_end_is_shown_and_every_other_call_until_it_ends() {
    let (approvals, mut events) = Approvals::new(options("", true));
    let run = approvals.memory().run().to_owned();
    let kept = || approvals.memory().get().calls.into_iter().map(|call| call.correlation_id).collect::<Vec<_>>();
    for (number, id) in [(1, "task"), (2, "parked"), (3, "left")] {
        let arguments = Some(Map::new());
        let (correlation_id, run) = (id.to_owned(), run.clone());
        approvals.call_started(number, UnfinishedCall { correlation_id, arguments, run, ..UnfinishedCall::default() });
    }
    let point = |state: &str| ResumePoint::Questions { requests: json!({}), state: Some(state.into()) };
    approvals.on_call_event(
        "task",
        UpstreamCallEvent::Resumable(Some(ResumePoint::Task { id: "t-1".into(), begun: vec![] })),
    );
    approvals.on_call_event("parked", UpstreamCallEvent::Resumable(Some(point("s"))));
    approvals.on_call_event("left", UpstreamCallEvent::Resumable(Some(point("s"))));
    for id in ["task", "parked"] {
        approvals.call_ended(id, ended("done"), KeptCall::Nothing).await;
    }
    approvals.call_ended("left", ended("not connected"), KeptCall::IfOpen).await;
    assert_eq!(kept(), ["task", "left"]);
    approvals.call_shown("task", KeptCall::Nothing);
    assert_eq!(kept(), ["left"]);
    assert_eq!(approvals.memory().unfinished_calls().len(), 1, "this run does not have it any more");
    for _ in 0..6 {
        events.recv().await.unwrap();
    }
    // The point is too large to keep, which is reported to the user.
    let (correlation_id, arguments) = ("large".to_owned(), Some(Map::new()));
    approvals.call_started(4, UnfinishedCall { correlation_id, arguments, run, ..UnfinishedCall::default() });
    approvals.on_call_event("large", UpstreamCallEvent::Resumable(Some(point(&"x".repeat(1 << 20)))));
    let Some(AgentEvent::CallEvent { call: 4, event: UpstreamCallEvent::Log(why) }) = events.recv().await else {
        panic!("no word of it")
    };
    assert!(why.contains("ends with the agent"), "{why}");
    approvals.call_ended("large", ended("not connected"), KeptCall::IfOpen).await;
    assert_eq!(kept(), ["left"]);
}
