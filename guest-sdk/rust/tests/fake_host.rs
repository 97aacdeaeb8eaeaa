//! What a tool may use while it runs, on the fake host.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::time::Duration;

use portcullis_guest::agent_tools::{self, AgentError, CallOptions};
use portcullis_guest::output::OutputError;
use portcullis_guest::testing::Host;
use portcullis_guest::{Budget, Content, Exhaustion, ToolError, ToolResult, log, meter, output, progress};
use serde_json::{Value, json};

#[test]
fn chunks_are_numbered_and_recorded() {
    let host = Host::new();
    assert_eq!(output::emit("a"), Ok(0));
    assert_eq!(output::emit(format_args!("{}", 1)), Ok(1));
    assert_eq!(output::emit_all(["b", "c"]), Ok(2));
    assert_eq!(host.chunk_texts(), ["a", "1", "b\nc"]);
    assert!(matches!(output::emit(Content::text("x").priority(2.0)), Err(OutputError::Invalid(_))));
    host.close_output();
    assert_eq!(output::emit("d"), Err(OutputError::Closed));
    assert_eq!(ToolError::from(OutputError::Closed), ToolError::Cancelled);
}

#[test]
fn the_chunk_limit_is_typed() {
    let _host = Host::new().chunk_limit(1);
    output::emit("a").unwrap();
    let error = output::emit("b").unwrap_err();
    assert_eq!(error, OutputError::Exhausted(Exhaustion { budget: Budget::Chunks, limit: 1 }));
    assert_eq!(error.to_string(), "the limit on output is reached: 1 chunks");
}

#[test]
fn progress_must_grow() {
    let host = Host::new();
    progress::report(1.0, Some(2.0));
    progress::report(1.0, Some(2.0));
    progress::report(f64::NAN, None);
    progress::report_with(2.0, Some(2.0), "done");
    let reports = host.progress();
    assert_eq!(reports.len(), 2);
    assert_eq!((reports[1].done, reports[1].message.as_deref()), (2.0, Some("done")));
}

#[test]
fn logs_have_levels() {
    let host = Host::new();
    let file = "a";
    log::warn!("skipped {file}");
    log::info!("{} of {}", 1, 2);
    log::write(log::Level::Alert, "fire");
    let log: Vec<_> = host.log().into_iter().map(|record| (record.level, record.message)).collect();
    let expected = [(log::Level::Warning, "skipped a"), (log::Level::Info, "1 of 2"), (log::Level::Alert, "fire")];
    assert_eq!(log, expected.map(|(level, message)| (level, message.to_owned())));
}

#[test]
fn budgets_are_told() {
    let _host = Host::new().fuel(None).deadline(Duration::from_millis(5));
    assert_eq!((meter::fuel_left(), meter::deadline_left()), (None, Duration::from_millis(5)));
}

#[test]
fn agent_tools_answer_with_types() {
    let host = Host::new()
        .agent_tool("math.add", |arguments| Ok(arguments["a"].as_i64().unwrap_or(0) + 1))
        .agent_tool("math.word", |_| Ok("forty-two"))
        .agent_tool("math.pair", |_| Ok(json!({ "a": 1 })));
    assert_eq!(agent_tools::call::<i64>("math.add", &json!({ "a": 41 })), Ok(42));
    assert_eq!(agent_tools::call::<String>("math.add", &json!({ "a": 41 })).as_deref(), Ok("42"));
    assert_eq!(agent_tools::call::<String>("math.word", &json!({})).as_deref(), Ok("forty-two"));
    assert_eq!(agent_tools::call::<Value>("math.pair", &json!({})), Ok(json!({ "a": 1 })));
    let error = agent_tools::call::<bool>("math.word", &json!({})).unwrap_err();
    assert!(matches!(error, AgentError::UnexpectedResult(_)));
    let names: Vec<String> = agent_tools::list().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["math.add", "math.pair", "math.word"]);
    assert_eq!((host.agent_calls().len(), &host.agent_calls()[0].arguments), (5, &json!({ "a": 41 })));
}

#[test]
fn agent_tools_fail_with_types() {
    let host = Host::new()
        .deny_agent_tool("a.denied")
        .agent_tool("a.late", |_| Err::<Value, _>(AgentError::Timeout(Duration::from_millis(7))))
        .raw_agent_tool("a.failed", |_| Ok(ToolResult::error(vec![Content::text("no luck")])))
        .agent_tool("a.again", |_| agent_tools::call::<Value>("a.again", &json!({})));
    let fails = |name: &str| agent_tools::call::<Value>(name, &json!({})).unwrap_err();
    let denied = fails("a.denied");
    assert_eq!(
        denied.to_string(),
        "denied: agent-tools does not allow `a.denied`. Ask the user, who alone can allow it"
    );
    assert!(matches!(ToolError::from(denied), ToolError::Denied(denial) if denial.target == "a.denied"));
    assert_eq!(fails("a.late").to_string(), "no answer within 7 ms");
    assert_eq!(fails("a.failed").to_string(), "the agent tool failed: no luck");
    assert_eq!(fails("a.again"), AgentError::Cycle("a.again".into()));
    assert_eq!(fails("a.missing"), AgentError::UnknownTool("a.missing".into()));
    assert!(matches!(agent_tools::call::<Value>("a.late", &"text"), Err(AgentError::InvalidArguments(_))));
    assert_eq!(host.agent_calls().len(), 6);
}

#[test]
fn options_reach_the_host() {
    let host = Host::new().agent_tool("a.b", |_| Ok(()));
    let options = CallOptions { timeout: Some(Duration::from_secs(1)), purpose: Some("to see".into()), chunks: false };
    agent_tools::call_with::<Value>("a.b", &json!({}), &options).unwrap();
    assert_eq!(host.agent_calls()[0].options, options);
}

#[test]
fn a_new_host_starts_afresh() {
    let first = Host::new().agent_tool("a.b", |_| Ok(()));
    output::emit("a").unwrap();
    drop(first);
    assert_eq!(Host::new().chunks().len(), 0);
    assert!(matches!(agent_tools::call::<Value>("a.b", &json!({})), Err(AgentError::UnknownTool(_))));
}
