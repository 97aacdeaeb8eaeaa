//! What is asked of whom, and what becomes of it, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::rc::Rc;

use portcullis_guest::agent_tools::AgentError;
use portcullis_guest::testing::Host;
use portcullis_guest::{Budget, Content, Exhaustion, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::orchestrator::PLUGIN;

/// A source that answers everything.
fn good(host: Host, name: &'static str) -> Host {
    host.agent_tool(name, move |arguments| Ok(format!("{name} knows {}", arguments["query"].as_str().unwrap())))
}

fn investigate(host: &Host, arguments: Value) -> Result<Value, ToolError> {
    let result = host.call(&PLUGIN, "investigate", arguments)?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

fn said(words: &str, is_error: bool) -> ToolResult {
    ToolResult { is_error, ..ToolResult::from(vec![Content::text(words)]) }
}

/// Who was asked what, in order.
fn asked(host: &Host) -> Vec<(String, String)> {
    let asked = host.agent_calls().into_iter();
    asked.map(|call| (call.name, call.arguments["query"].as_str().unwrap().to_owned())).collect()
}

fn pair(name: &str, query: &str) -> (String, String) {
    (name.to_owned(), query.to_owned())
}

#[test]
fn parts_are_shared_out_and_their_order_kept() {
    let host = good(good(Host::new(), "a.search"), "b.search");
    let report = investigate(&host, json!({"request": "1. the moat\n- who built it? how deep; "})).unwrap();
    let expected = [pair("a.search", "the moat"), pair("b.search", "who built it?"), pair("a.search", "how deep")];
    assert_eq!(asked(&host), expected);
    assert_eq!(report["answered"], 3);
    let texts: Vec<_> = report["parts"].as_array().unwrap().iter().map(|part| part["answer"]["text"].clone()).collect();
    assert_eq!(texts, ["a.search knows the moat", "b.search knows who built it?", "a.search knows how deep"]);
    assert_eq!(report["parts"][1]["answer"]["origin"], "the component b");
    let options = &host.agent_calls()[0].options;
    assert!(options.chunks && options.timeout.is_some());
    assert_eq!(options.purpose.as_deref(), Some("find out: the moat"));
    assert_eq!(host.progress().last().unwrap().done, 3.0);
}

#[test]
fn what_breaks_is_replaced_and_asked_nothing_more() {
    let host = Host::new().agent_tool("a.search", |_| Err::<String, _>(AgentError::Failed("it is gone".into())));
    let host = good(host, "b.search");
    let report = investigate(&host, json!({"request": "one; two; three"})).unwrap();
    assert_eq!(report["answered"], 3);
    let after_the_first_round: Vec<_> = asked(&host).drain(3..).collect();
    assert_eq!(after_the_first_round, [pair("b.search", "one"), pair("b.search", "three")]);
    let trouble = json!({"source": "a.search", "why": "the agent tool broke: it is gone"});
    assert_eq!(report["given_up"], json!([trouble]));
    assert_eq!(report["parts"][0]["troubles"], json!([trouble]));
    assert_eq!(report["parts"][1]["troubles"], json!([]));
    assert_eq!(host.chunk_texts()[0], "one: a.search: the agent tool broke: it is gone");
}

#[test]
fn what_may_pass_is_tried_again_when_nobody_else_is_left() {
    let tries = Rc::new(Cell::new(0));
    let counted = tries.clone();
    let host = Host::new().raw_agent_tool("a.search", move |_| {
        counted.set(counted.get() + 1);
        let is_error = counted.get() == 1;
        Ok(said(if is_error { "busy" } else { "now" }, is_error))
    });
    let report = investigate(&host, json!({"request": "one"})).unwrap();
    assert_eq!((tries.get(), &report["parts"][0]["answer"]["text"]), (2, &json!("now")));
    assert_eq!(report["given_up"], json!([]));

    let host = Host::new().raw_agent_tool("a.search", |_| Ok(said("no", true)));
    let report = investigate(&host, json!({"request": "one"})).unwrap();
    assert_eq!((asked(&host).len(), &report["answered"]), (2, &json!(0)), "there is an end to it");
}

#[test]
fn a_no_is_taken_for_an_answer() {
    let host = Host::new().agent_tool("a.search", |_| Err::<String, _>(AgentError::Declined("not today".into())));
    let host = good(host, "b.search");
    let report = investigate(&host, json!({"request": "one; two"})).unwrap();
    assert_eq!(asked(&host).len(), 2, "nobody else is asked what a person did not want to be asked");
    assert_eq!(report["answered"], 1);
    assert_eq!(report["parts"][0]["answer"], Value::Null);
}

#[test]
fn an_end_of_the_budget_keeps_what_is_there() {
    let used_up = AgentError::Exhausted(Exhaustion { budget: Budget::Calls, limit: 1 });
    let host = Host::new().agent_tool("a.search", move |_| Err::<String, _>(used_up.clone()));
    let host = good(host, "b.search");
    let report = investigate(&host, json!({"request": "one; two"})).unwrap();
    assert_eq!((asked(&host).len(), &report["answered"]), (2, &json!(1)));

    let host = Host::new().agent_tool("a.search", |_| Err::<String, _>(AgentError::Cancelled));
    assert_eq!(investigate(&host, json!({"request": "one"})), Err(ToolError::Cancelled));
}

#[test]
fn sources_are_chosen_by_name() {
    let host = good(good(good(Host::new(), "a.search"), "b.search"), "b.delete");
    investigate(&host, json!({"request": "one; two", "sources": ["b.s*", "b.search"]})).unwrap();
    assert_eq!(asked(&host), [pair("b.search", "one"), pair("b.search", "two")]);
    let error = investigate(&host, json!({"request": "one", "sources": ["c.*"]})).unwrap_err();
    assert!(matches!(error, ToolError::Unsupported(_)), "{error:?}");
}

#[test]
fn requests_are_bounded() {
    let host = good(Host::new(), "a.search");
    for request in ["; ; \n??", &"x;".repeat(33)] {
        let error = investigate(&host, json!({"request": request})).unwrap_err();
        assert!(matches!(error, ToolError::InvalidArguments(_)), "{error:?}");
    }
}
