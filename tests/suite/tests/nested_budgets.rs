//! A guest calls tools that each use up what one call may: together they use no more than the guest itself may.

use crate::upstream::{misbehaving, until_found};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;
use suite::{Called, Client, Era, Server, agent, plugin};

const ALL: &str = r#"grants.agent-tools = ["*.*"]"#;
const FOLDER: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;

/// A plugin under `limits` that calls what it is told.
fn caller(limits: &str) -> String {
    plugin("agent-calls", &format!("{ALL}\n{limits}"))
}

/// A client that answers every question.
fn start(config: &str) -> Client {
    let abilities = json!({"elicitation": {"form": {}}, "sampling": {}});
    let mut client = Client::able(Server::start(config), Era::Legacy, false, abilities);
    client.answering = Some(|method, _| match method {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        _ => json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}),
    });
    client
}

/// The steps of a call that calls `tool` once with each of these arguments.
fn steps(tool: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
    arguments.into_iter().map(|arguments| json!({"call": {"name": tool, "arguments": arguments}})).collect()
}

fn run(client: &mut Client, steps: &Value) -> Called {
    client.run("agent-calls", json!({"path": steps.to_string()}))
}

/// Calls a tool six times from one call, and returns how many of the calls went well.
fn six_calls(client: &mut Client, tool: &str, arguments: impl Fn(u64) -> Value) -> usize {
    let called = run(client, &steps(tool, (0..6).map(arguments)));
    let results: Vec<Value> = serde_json::from_str(&called.good()).unwrap();
    assert_eq!(results.len(), 6);
    results.iter().filter(|result| result.get("error").is_none()).count()
}

#[test]
fn questions_are_counted_for_the_whole_tree() {
    for (limit, asked) in [(4, 4), (32, 6), (0, 0)] {
        let ask = agent("ask", "ask", "grants.client = { form = true }");
        let mut client = start(&(caller(&format!("limits.questions = {limit}")) + &ask));
        assert_eq!(six_calls(&mut client, "ask.run", |_| json!({"path": "form"})), asked, "of {limit}");
    }
}

#[test]
fn requests_to_a_model_are_counted_for_the_whole_tree() {
    for (grant, asked) in [("calls = 2, tokens = 10_000", 2), ("calls = 100, tokens = 350", 3)] {
        let ask = agent("ask", "ask", &format!("grants.client = {{ sample = {{ {grant} }} }}"));
        let mut client = start(&(caller("") + &ask));
        assert_eq!(six_calls(&mut client, "ask.run", |_| json!({"path": "sample"})), asked, "{grant}");
    }
}

#[test]
fn log_records_are_counted_for_the_whole_tree() {
    for (limits, lines) in [("limits.log-lines = 50", 50), ("limits.log = \"350 B\"", 50), ("", 240)] {
        let mut client = start(&(caller(limits) + &agent("noisy", "log-flood", "")));
        assert_eq!(six_calls(&mut client, "noisy.run", |_| json!({"n": 40})), 6);
        assert!(client.server.end().success());
        let written = client.server.log().lines().filter(|line| line.contains("guest: flood ")).count();
        assert!((lines - 10..=lines).contains(&written), "{written} lines under {limits:?}");
    }
}

#[test]
fn growth_of_files_is_counted_for_the_whole_tree() {
    let config = caller("limits.file-growth = \"10 KiB\"") + &agent("writer", "write-inside", FOLDER);
    let mut client = start(&config);
    let path = |n| json!({"path": format!("/work/{n}.txt")});
    assert_eq!(six_calls(&mut client, "writer.run", path), 2, "a new file counts as 4 KiB");
    let work = client.server.home.work();
    let bytes: u64 = fs::read_dir(work).unwrap().flatten().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 10 << 10, "{bytes} bytes");
}

#[test]
fn refusals_are_recorded_so_often_for_the_whole_tree() {
    let config = plugin("agent-calls", r#"grants.agent-tools = ["inner.run"]"#) + &agent("inner", "agent-calls", "");
    let mut client = start(&config);
    let denied: Vec<Value> = (0..100).map(|_| json!({"name": "notes.add"})).collect();
    let script = json!([{"many": denied}]).to_string();
    assert_eq!(six_calls(&mut client, "inner.run", |_| json!({"path": script})), 6);
    assert!(client.server.end().success());
    let logged = client.server.log().lines().filter(|line| line.contains("denied: agent-tools")).count();
    assert_eq!(logged, 256);
    let journal = fs::read_dir(client.server.home.path().join("state/audit")).unwrap().flatten();
    let journal: String = journal.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    assert_eq!(journal.matches("\"event\":\"denial\"").count(), 256);
    println!("hostile: nested refusals: {logged} records of 600 in six nested calls");
}

#[test]
fn a_called_plugins_own_limit_of_calls_applies_too() {
    let inner = agent("inner", "agent-calls", &format!("{ALL}\nlimits.calls = 2"));
    let mut client = start(&(caller("") + &inner + &agent("echo", "echo", "")));
    let script = steps("echo.run", (0..5).map(|n| json!({"n": n})));
    let called = run(&mut client, &steps("inner.run", [json!({"path": script.to_string()})]));
    let results: Vec<Value> = serde_json::from_str(&called.good()).unwrap();
    let inner: Vec<Value> = serde_json::from_str(results[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(inner.iter().filter(|result| result["error"] == "exhausted").count(), 3, "{inner:?}");
}

#[test]
fn bytes_of_reverse_calls_are_counted_for_the_whole_tree() {
    for (limits, passed) in
        [("limits.call-arguments = \"20 KiB\"", 2), ("limits.call-results = \"40 KiB\"", 2), ("", 6)]
    {
        let agents = agent("inner", "agent-calls", ALL) + &agent("echo", "echo", "");
        let mut client = start(&(caller(limits) + &agents));
        let script = steps("echo.run", [json!({"path": "x".repeat(2 << 10)}), json!({"path": "y".repeat(2 << 10)})]);
        let called = run(&mut client, &steps("inner.run", (0..6).map(|_| json!({"path": script.to_string()}))));
        let results: Vec<Value> = serde_json::from_str(&called.good()).unwrap();
        let echoed = |result: &&Value| result["text"].as_str().is_some_and(|text| !text.contains("error"));
        assert_eq!(results.iter().filter(echoed).count(), passed, "{limits}: {}", called.usage());
    }
}

#[test]
fn what_a_server_makes_run_here_is_paid_by_the_caller() {
    let burn = agent("burn", "burn", "") + &plugin("burn", "");
    let config = caller("limits.fuel = 10_000_000_000") + &misbehaving("calls", "offer = [\"burn.*\"]") + &burn;
    let mut client = until_found(Client::of(&config));
    let alone = client.run("burn", json!({"n": 5_000_000})).usage()["fuel"].as_u64().unwrap();
    let called = run(&mut client, &steps("odd.run", (0..6).map(|_| json!({"n": 5_000_000}))));
    assert!(called.good().contains("fuel left"), "{}", called.text());
    let fuel = called.usage()["fuel"].as_u64().unwrap();
    println!("hostile: nested fuel: {} % of what six calls through a server used", fuel * 100 / (6 * alone));
    assert!(fuel > 6 * alone, "{fuel} for six calls of {alone}");
}

/// The time in which a reverse call is served does not count for the server, but it does for the caller.
#[test]
fn an_upstream_call_ends_with_its_callers_time() {
    let wait = agent("wait", "wait-forever", "");
    let config = caller("") + &misbehaving("calls-then-stalls", "offer = [\"wait.*\"]") + &wait;
    let mut client = until_found(Client::of(&config));
    let limited = json!([{"call": {"name": "odd.run", "timeoutMs": 3_000}}]);
    let called = run(&mut client, &limited);
    assert!(called.good().contains("timeout"), "{}", called.text());
    let wall = called.usage()["wallMs"].as_f64().unwrap();
    println!("hostile: nested time: {wall:.0} ms for an upstream call of 3000 ms");
    assert!(wall < 5_000.0, "{wall} ms, and the call had 3000");
    assert!(called.0.elapsed() > Duration::from_secs(2));
}

/// The tests of each row of `host/docs/limits.md` that the whole tree shares; `unit` is one of policy's own.
const ATTACKS: &[(&str, &[&str])] = &[
    (
        "limits.fuel",
        &[
            "reverse::a_nested_call_is_limited_to_its_callers_fuel",
            "nested_budgets::what_a_server_makes_run_here_is_paid_by_the_caller",
        ],
    ),
    (
        "limits.cpu",
        &[
            "reverse::a_nested_call_measured_in_ticks_spends_its_callers_fuel",
            "unit limits/budget::a_child_never_gets_more_than_its_parent_has",
        ],
    ),
    ("limits.extensions", &["tasks/fuel::its_client_is_asked_and_may_let_it_use_more"]),
    (
        "limits.deadline",
        &[
            "reverse::a_nested_call_is_limited_to_its_callers_time",
            "nested_budgets::an_upstream_call_ends_with_its_callers_time",
        ],
    ),
    ("limits.output", &["nested_chunks::the_callers_limits_bound_forwarded_chunks"]),
    ("limits.chunks", &["nested_chunks::the_callers_limits_bound_forwarded_chunks"]),
    (
        "limits.calls",
        &[
            "reverse::calls_are_counted_for_the_whole_request",
            "nested_budgets::a_called_plugins_own_limit_of_calls_applies_too",
            "connections::requests_are_counted_for_the_whole_tree",
        ],
    ),
    ("limits.depth", &["reverse::a_call_chain_is_stopped_at_its_depth_limit"]),
    ("limits.call-arguments", &["nested_budgets::bytes_of_reverse_calls_are_counted_for_the_whole_tree"]),
    ("limits.call-results", &["nested_budgets::bytes_of_reverse_calls_are_counted_for_the_whole_tree"]),
    ("limits.reverse-call-wait", &["unit lineage::what_the_tree_shares_is_never_refilled"]),
    ("limits.questions", &["nested_budgets::questions_are_counted_for_the_whole_tree"]),
    ("limits.file-growth", &["nested_budgets::growth_of_files_is_counted_for_the_whole_tree"]),
    ("limits.log", &["nested_budgets::log_records_are_counted_for_the_whole_tree"]),
    ("limits.log-lines", &["nested_budgets::log_records_are_counted_for_the_whole_tree"]),
    ("limits.parallel", &["unit lineage::no_depth_has_more_calls_at_once_than_one_call_may_make"]),
    ("grants.client.sample.calls", &["nested_budgets::requests_to_a_model_are_counted_for_the_whole_tree"]),
    ("grants.client.sample.tokens", &["nested_budgets::requests_to_a_model_are_counted_for_the_whole_tree"]),
    ("grants.http.requests", &["unit lineage::what_the_tree_shares_is_never_refilled"]),
    ("records of refusals", &["nested_budgets::refusals_are_recorded_so_often_for_the_whole_tree"]),
    ("spans", &["watching::spans_are_counted_for_the_whole_tree"]),
];

#[test]
fn each_budget_of_the_tree_is_attacked() {
    let root = suite::paths::root();
    let page = fs::read_to_string(root.join("host/docs/limits.md")).unwrap();
    let shared = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        (cells.len() == 6 && cells[3] == "tree").then(|| cells[1].clone())
    };
    let rows: BTreeSet<String> = page.lines().filter_map(shared).collect();
    let attacked: BTreeSet<String> = ATTACKS.iter().map(|(limit, _)| (*limit).to_owned()).collect();
    assert_eq!(rows, attacked, "the page, and what is attacked here");
    println!("hostile: nested budgets: {} of {} attacked", attacked.len(), rows.len());
    for test in ATTACKS.iter().flat_map(|(_, tests)| *tests) {
        let (file, name) = test.split_once("::").unwrap();
        let file = match file.strip_prefix("unit ") {
            Some(module) => root.join(format!("host/crates/policy/src/{module}.rs")),
            None => root.join(format!("tests/suite/tests/{file}.rs")),
        };
        assert!(fs::read_to_string(&file).unwrap().contains(&format!("fn {name}()")), "{test} is no test");
    }
}
