//! Tasks of servers that say what few do.

use super::NAMES;
use super::world::World;
use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, PATIENCE, eventually, paths};

/// The text of the only result of a call, and whether it failed.
fn called(world: &World, rules: &str) -> (String, bool) {
    let mut run = world.start(rules);
    run.say("call demo.run");
    let (_, results) = run.end("result");
    assert_eq!(results.len(), 1, "{results:?}");
    (results[0]["text"].as_str().unwrap().to_owned(), results[0]["isError"].as_bool().unwrap())
}

#[test]
fn a_task_is_followed_while_its_server_goes_and_comes() {
    assert_eq!(called(&World::of_odd_server("dies"), ""), ("done".into(), false));
}

#[test]
fn a_server_that_wants_to_be_asked_all_the_time_is_not() {
    assert_eq!(called(&World::of_odd_server("hurried"), ""), ("10 looks took long".into(), false));
}

#[test]
fn a_question_that_is_still_listed_is_not_answered_again() {
    for kind in ["slow-to-hear", "refuses-answers"] {
        assert_eq!(called(&World::of_odd_server(kind), NAMES), ("1 answers".into(), false), "{kind}");
    }
}

#[test]
fn an_answer_outlives_a_moment_in_which_its_question_is_not_listed() {
    let world = World::of_odd_server("starts-again");
    let mut run = world.start(NAMES);
    run.say("call demo.run");
    assert_eq!(run.expect("result", |_| true)["text"], "it has the answer");
    let (_, decided) = run.end("approval-decided");
    assert_eq!(decided.len(), 1, "the question is asked once: {decided:?}");
}

#[test]
fn what_no_task_may_be_ends_the_call_with_a_sentence() {
    for (kind, words) in [
        ("unasked", "a task, which was not requested"),
        ("long-id", "a task whose id is empty or too long"),
        ("many-questions", "200 questions at once"),
        ("other-result", "another kind than a task's"),
        ("bad-result", "a malformed result of a task"),
        ("fails", "disk is full"),
    ] {
        let world = World::of_odd_server(kind);
        let (said, failed) = called(&world, NAMES);
        assert!(failed && said.contains(words) && !said.contains('\u{1b}'), "{kind}: {said}");
        let is_cancelled = fs::exists(world.home.path().join("cancelled")).unwrap();
        assert_eq!(is_cancelled, ["many-questions", "other-result", "bad-result"].contains(&kind), "{kind}");
    }
}

/// Else its tool would wait for an answer that nobody gives.
#[test]
fn a_task_whose_question_cannot_be_answered_is_cancelled() {
    let world = World::of_odd_server("asks-a-model");
    let (said, failed) = called(&world, "");
    assert!(failed && said.contains("could not be answered"), "{said}");
    assert_eq!(fs::read_to_string(world.home.path().join("cancelled")).unwrap(), "1");
}

/// As an agent stores it that is killed while its user looks at a call of a tool of the agent.
#[test]
fn a_call_that_waits_for_a_tool_of_the_agent_goes_on() {
    let world = World::of_script("tests/suite/tests/upstream/server.py", "calls");
    let point =
        json!({"reverse-calls": {"calls": {"a": {"name": "echo.run", "arguments": {"n": 7}}}, "continuation": "c"}});
    let call = json!({"correlationId": "0123456789", "server": "demo", "address": paths::python(), "tool": "run",
                      "arguments": {}, "point": point});
    fs::create_dir(world.agent_state()).unwrap();
    fs::write(world.agent_state().join("agent.json"), json!({"calls": [call]}).to_string()).unwrap();
    let config = world.home.write("agent.toml", suite::agent("echo", "echo", "")).display().to_string();
    let rules = "[[tool]]\ntool = \"echo.*\"\napproval = \"allow\"";
    let mut run = world.start_with(rules, &["--connect", &format!("demo={}", world.address), "--config", &config]);
    run.say("resume");
    let (status, results) = run.end("result");
    assert_eq!((status, results.len()), (Some(0), 1), "{results:?}");
    assert!(results[0]["text"].as_str().unwrap().contains(r#"\"n\":7"#), "{results:?}");
}

/// What the agent's tool `echo.run` has answered to the calls of a task, and how often it was approved.
fn echoed(kind: &str, begun: &[&str], rules: &str) -> (Value, usize) {
    let world = World::of_odd_server(kind);
    let point = json!({"task": {"id": "t-1", "begun": begun}});
    let call = json!({"correlationId": "0123456789", "server": "demo", "address": paths::python(), "tool": "run",
                      "arguments": {}, "point": point});
    fs::create_dir(world.agent_state()).unwrap();
    fs::write(world.agent_state().join("agent.json"), json!({"calls": [call]}).to_string()).unwrap();
    let config = world.home.write("agent.toml", suite::agent("echo", "echo", "")).display().to_string();
    let mut run = world.start_with(rules, &["--connect", &format!("demo={}", world.address), "--config", &config]);
    run.say("resume");
    let result = run.expect("result", |_| true);
    let (status, decided) = run.end("approval-decided");
    assert_eq!(status, Some(0), "{result}");
    (serde_json::from_str(result["text"].as_str().unwrap()).unwrap(), decided.len())
}

const ECHO: &str = "[[tool]]\ntool = \"echo.*\"\napproval = \"allow\"";

/// Also if the server takes calls out of its list for a moment, and forgets an outcome that it has got.
#[test]
fn tools_that_a_task_calls_are_run_once_each() {
    let said = |outcome: &Value| outcome["content"][0]["text"].as_str().unwrap().to_owned();
    for kind in ["calls-tools", "loses-outcomes"] {
        let (outcomes, approved) = echoed(kind, &[], ECHO);
        assert!(said(&outcomes["a"]).contains("\"n\":1") && said(&outcomes["b"]).contains("\"n\":2"), "{outcomes}");
        assert_eq!(approved, 2, "{kind}");
    }
    let (outcomes, _) = echoed("calls-tools", &[], "");
    assert_eq!(outcomes["a"]["error"]["code"], "declined", "no rule allows it: {outcomes}");
}

#[test]
fn a_tool_that_was_begun_before_the_agent_was_killed_is_not_run_again() {
    let (outcomes, approved) = echoed("calls-tools", &["a"], ECHO);
    assert_eq!((&outcomes["a"]["error"]["code"], approved), (&json!("failed"), 1), "{outcomes}");
    assert!(outcomes["a"]["error"]["message"].as_str().unwrap().contains("nobody knows"), "{outcomes}");
    assert!(outcomes["b"]["content"].is_array(), "{outcomes}");
}

#[test]
fn a_server_that_does_not_take_an_outcome_is_told_so() {
    let (outcomes, approved) = echoed("refuses-outcomes", &[], ECHO);
    assert_eq!((&outcomes["a"]["error"]["code"], approved), (&json!("failed"), 2), "{outcomes}");
}

#[test]
fn only_the_agent_lets_calls_become_tasks_and_no_gateway_does() {
    let world = World::of_odd_server("says-what-is-declared");
    assert_eq!(called(&world, "").0, "tasks");
    let script = paths::root().join("tests/suite/tests/agent_restart/server.py");
    let (python, script) = (paths::python().display().to_string(), script.display().to_string());
    let folder = world.home.path().display().to_string();
    let config = format!("[upstream.far]\ncommand = [{python:?}, {script:?}, \"says-what-is-declared\", {folder:?}]\n");
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = Client::able(suite::Server::start(&config), Era::Modern, false, tasks);
    let found = |client: &mut Client| client.tools().iter().any(|tool| tool["name"] == "far__run").then_some(());
    eventually(PATIENCE, || found(&mut client)).expect("the server is connected");
    assert_eq!(client.call("far__run", json!({})).good(), "no tasks");
}
