//! Tests of the calls of its client's tools that a task waits for.

use crate::calls::wait_permits::WaitPermits;
use crate::client::pending::{PendingQuestions, PendingRequest, PendingReverseCall};
use crate::tasks::records::asked::AskedQuestions;
use crate::tasks::run::questions::TaskQuestions;
use futures::FutureExt as _;
use policy::{ParkedCallLimits, PluginId, Principal, Side};
use runtime::engine::HeldResources;
use runtime::imports::{AgentError, Author, CheckedQuestion, QuestionBatch};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

const NOW: u64 = 1_000_000;

type Outcome = oneshot::Receiver<Result<Value, AgentError>>;

fn task(places: usize, asked: AskedQuestions) -> TaskQuestions {
    let limits = ParkedCallLimits { calls: places, per_principal: places, ..ParkedCallLimits::default() };
    let (permits, alice) = (Arc::new(WaitPermits::new(limits)), Principal::from_source("key", "alice"));
    TaskQuestions::new(permits, alice, None, HeldResources::default(), asked, Map::new())
}

/// Calls a tool in a step, with arguments of this many bytes.
fn call_with(task: &mut TaskQuestions, step: &str, seconds: u64, bytes: usize, now: u64) -> Outcome {
    let (answer, outcome) = oneshot::channel();
    let (fields, waits) = (json!({"name": "t", "arguments": {"a": "x".repeat(bytes)}}), Duration::from_secs(seconds));
    let (key, step, timeout) = (format!("call-{step}"), Some(step.to_owned()), Duration::from_secs(60));
    let call = PendingReverseCall { key, fields, timeout, waits, step, answer };
    task.ask(PendingRequest::ReverseCall(call), false, now);
    outcome
}

fn call(task: &mut TaskQuestions, step: &str, seconds: u64) -> Outcome {
    call_with(task, step, seconds, 0, NOW)
}

fn shown(task: &TaskQuestions) -> Vec<String> {
    task.outstanding_calls().to_fields(NOW).keys().cloned().collect()
}

fn outcomes(keys: &[&str]) -> Map<String, Value> {
    keys.iter().map(|key| ((*key).to_owned(), json!({"content": [], "of": key}))).collect()
}

#[tokio::test]
async fn each_call_is_answered_by_itself_and_other_keys_are_ignored() {
    let mut task = task(9, AskedQuestions::default());
    let (mut one, mut two) = (call(&mut task, "1", 9), call(&mut task, "2.1", 9));
    assert_eq!(shown(&task), ["call-1", "call-2.1"]);
    task.answer_calls(outcomes(&["call-2.1", "call-7"]));
    assert_eq!(two.try_recv().unwrap().unwrap()["of"], "call-2.1");
    assert!(one.try_recv().is_err() && shown(&task) == ["call-1"] && task.is_waiting());
    task.answer_calls(outcomes(&["call-2.1", "call-1"]));
    assert_eq!(one.try_recv().unwrap().unwrap()["of"], "call-1");
    assert!(!task.is_waiting() && task.outstanding_calls().is_empty());
    assert_eq!(task.asking(), 0, "a tool is no question");
}

#[tokio::test]
async fn a_later_run_calls_again_under_the_same_keys_and_not_what_has_an_outcome() {
    let mut first = task(9, AskedQuestions::default());
    let _waiting = [call(&mut first, "1", 9), call(&mut first, "2", 9), call(&mut first, "3", 9)];
    first.answer_calls(outcomes(&["call-1"]));
    let mut later = task(9, AskedQuestions::from_bytes(&first.asked().to_bytes()).unwrap());
    later.answer_calls(outcomes(&["call-2", "call-9"]));
    let again = ["1", "2", "3"].map(|step| call_with(&mut later, step, 9, 0, NOW + 5_000));
    assert_eq!(shown(&later), ["call-3"], "the second outcome came before its call");
    for (mut outcome, key) in again.into_iter().zip(["call-1", "call-2"]) {
        assert_eq!(outcome.try_recv().unwrap().unwrap()["of"], key);
    }
    assert_eq!(later.expires(), Some(NOW + 9_000), "it does not begin to wait anew");
}

#[tokio::test]
async fn calls_are_given_up_in_time_and_with_their_guest_and_refused_without_room() {
    let mut asked = task(9, AskedQuestions::default());
    let (mut soon, mut later) = (call(&mut asked, "1", 1), call(&mut asked, "2", 50));
    asked.give_up(asked.expires().unwrap());
    assert_eq!(soon.try_recv().unwrap(), Err(AgentError::Timeout(1_000)));
    assert!(later.try_recv().is_err() && shown(&asked) == ["call-2"]);
    assert!(asked.abandoned().now_or_never().is_none(), "its guest waits for it");
    drop(later);
    asked.abandoned().await;
    asked.give_up(NOW);
    assert!(!asked.is_waiting() && asked.abandoned().now_or_never().is_none());
    asked.answer_calls(outcomes(&["call-1", "call-2"]));
    let mut full = task(0, AskedQuestions::default());
    assert!(matches!(call(&mut full, "1", 1).try_recv(), Ok(Err(AgentError::Exhausted(_)))));
}

#[tokio::test]
async fn what_is_asked_at_once_is_bounded_in_bytes() {
    let mut task = task(9, AskedQuestions::default());
    let mut one = call_with(&mut task, "1", 9, 600 << 10, NOW);
    let mut two = call_with(&mut task, "2", 9, 600 << 10, NOW);
    assert!(one.try_recv().is_err() && matches!(two.try_recv(), Ok(Err(AgentError::Failed(_)))));
    task.answer_calls(outcomes(&["call-1"]));
    assert!(call_with(&mut task, "3", 9, 600 << 10, NOW).try_recv().is_err(), "there is room again");
}

/// A question and a call never get each other's answers, whatever key a plugin gives its question.
#[tokio::test]
async fn questions_and_calls_wait_beside_each_other() {
    let mut task = task(9, AskedQuestions::default());
    let plugin = PluginId { side: Side::Server, name: "p".into() };
    let (answer, mut answered) = oneshot::channel();
    let (questions, timeout) = (vec![("call-2".to_owned(), CheckedQuestion::Roots)], Duration::from_secs(9));
    let batch = QuestionBatch { plugin, author: Author::Plugin, questions, timeout, step: Some("1".into()) };
    task.ask(PendingRequest::Questions(PendingQuestions::new(batch, answer)), false, NOW);
    let mut outcome = call(&mut task, "2", 9);
    assert_eq!((task.asking(), shown(&task)), (1, vec!["call-2-2".to_owned()]));
    task.answer_calls(outcomes(&["call-2"]));
    task.answer([("call-2-2".to_owned(), json!({"roots": []}))].into_iter().collect());
    assert!(answered.try_recv().is_err() && outcome.try_recv().is_err());
    task.answer([("call-2".to_owned(), json!({"roots": []}))].into_iter().collect());
    assert!(answered.try_recv().is_ok() && task.is_waiting());
    task.answer_calls(outcomes(&["call-2-2"]));
    assert!(outcome.try_recv().is_ok() && !task.is_waiting());
}
