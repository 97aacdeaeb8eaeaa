//! Reverse calls: only granted tools, within budgets that nested calls inherit and never refill.

use serde_json::json;
use suite::{Client, Era, Server, agent, plugin, plugin_from};

const ECHO: &str = r#"grants.agent-tools = ["echo.*"]"#;
const ALL: &str = r#"grants.agent-tools = ["*.*"]"#;

#[test]
fn a_granted_tool_answers() {
    let mut client = Client::of(&(plugin("relay", ECHO) + &agent("echo", "echo", "")));
    let called = client.run("relay", json!({"path": "echo.run", "n": 5}));
    assert!(called.good().contains("\"n\":5"), "{}", called.text());
    assert_eq!(called.usage()["calls"], 1);
}

#[test]
fn tools_of_the_agent_are_not_listed_over_mcp() {
    let config = plugin("relay", ECHO) + &agent("echo", "echo", "") + &agent("burn", "burn", "");
    let mut client = Client::of(&config);
    let names: Vec<_> = client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["relay__run"]);
    for name in ["echo__run", "echo.run", "burn__run", "run"] {
        assert_eq!(client.request("tools/call", json!({"name": name, "arguments": {}})).error_code(), -32602, "{name}");
    }
}

#[test]
fn a_guest_sees_only_what_it_may_call() {
    let agents = agent("echo", "echo", "") + &agent("burn", "burn", "");
    let mut client = Client::of(&(plugin("list-agent-tools", ECHO) + &agents));
    assert_eq!(client.run("list-agent-tools", json!({})).good(), "echo.run");
    let mut client = Client::of(&(plugin("list-agent-tools", "") + &agents));
    assert_eq!(client.run("list-agent-tools", json!({})).good(), "");
}

#[test]
fn a_tool_that_is_not_granted_is_denied_with_the_line_that_would_grant_it() {
    let config = plugin("ungranted-agent-tool", ECHO) + &agent("notes", "echo", "") + &agent("echo", "echo", "");
    let mut client = Client::new(Server::start(&config), Era::Modern, true);
    let called = client.run("ungranted-agent-tool", json!({}));
    assert_eq!(called.code(), "denied", "{}", called.result());
    assert_eq!(called.error()["capability"], "agent-tools");
    assert_eq!(called.error()["target"], "notes.add");
    assert!(called.text().ends_with("Ask the user, who alone can allow it"), "{}", called.text());
    let logged = client.server.wait_for_log("denied: agent-tools");
    for text in [logged.as_str(), called.error()["remedy"].as_str().unwrap()] {
        assert!(text.contains("portcullis grant ungranted-agent-tool"), "{text}");
        assert!(text.contains(r#"agent-tools = ["notes.add"]"#), "{text}");
    }
    assert_eq!(called.usage()["calls"], 0, "the call went nowhere");
}

/// Gemini CLI lets its model read all of a failed result, and a model with a shell runs the command that it reads.
#[test]
fn only_clients_that_promise_to_show_it_to_people_are_told_the_command() {
    for era in [Era::Modern, Era::Legacy] {
        for (progress, told) in [(false, false), (true, false), (false, true)] {
            let config = plugin("ungranted-agent-tool", ECHO) + &agent("notes", "echo", "");
            let mut client = Client::new(Server::start(&config), era, told);
            client.progress = progress;
            let called = client.run("ungranted-agent-tool", json!({}));
            assert_eq!(called.code(), "denied", "{}", called.result());
            let way = format!("{era:?}, progress: {progress}, extensions: {told}: {}", called.result());
            assert_eq!(called.result().to_string().contains("portcullis grant"), told, "{way}");
        }
    }
}

#[test]
fn a_tool_that_was_never_requested_is_denied_even_with_a_grant() {
    let mut client = Client::of(&(plugin("unrequested-agent-tool", ALL) + &agent("echo", "echo", "")));
    let called = client.run("unrequested-agent-tool", json!({}));
    assert_eq!(called.code(), "denied", "{}", called.result());
    assert!(called.text().ends_with("is not requested by the plugin. No grant can change that"), "{}", called.text());
}

#[test]
fn a_missing_tool_is_reported_as_unknown() {
    let mut client = Client::of(&(plugin("relay", ALL) + &agent("echo", "echo", "")));
    let called = client.run("relay", json!({"path": "nobody.run"}));
    assert!(called.is_error() && called.text().contains("nobody.run"), "{}", called.text());
}

#[test]
fn a_tool_reads_exactly_the_arguments_that_were_checked() {
    // The schema sees one of two values of the same key; this tool reads the other.
    let script = json!([{"call": {"name": "first-key.run", "raw": r#"{"path": 1, "path": "checked"}"#}}]);
    let grant = r#"grants.agent-tools = ["first-key.*"]"#;
    let mut client = Client::of(&(plugin("agent-calls", grant) + &agent("first-key", "first-key", "")));
    let called = client.run("agent-calls", json!({"path": script.to_string()}));
    assert!(called.good().contains(r#"{\"path\":\"checked\"}"#), "{}", called.text());
}

#[test]
fn calls_are_counted_for_the_whole_request() {
    let mut client = Client::of(&(plugin("reverse-flood", ECHO) + &agent("echo", "echo", "") + &plugin("echo", "")));
    let called = client.run("reverse-flood", json!({}));
    assert_eq!(called.code(), "calls-exceeded", "{}", called.result());
    assert_eq!(called.number("limit"), 256);
    assert_eq!(called.usage()["calls"], 256);
    client.check_alive();
}

#[test]
fn a_tool_does_not_call_itself() {
    let grant = r#"grants.agent-tools = ["self.run"]"#;
    let config = plugin("self-recursion", grant) + &agent("self", "self-recursion", grant);
    let mut client = Client::of(&(config + &plugin("echo", "")));
    let called = client.run("self-recursion", json!({}));
    assert!(called.is_error() && called.text().contains("cycle"), "{}", called.result());
    assert_eq!(called.usage()["calls"], 1, "the first call is fine, its own call of itself is not");
    client.check_alive();
}

#[test]
fn mutual_calls_of_two_tools_are_stopped() {
    let agents = agent("a", "mutual-recursion", ALL) + &agent("b", "mutual-recursion", ALL);
    let mut client = Client::of(&(plugin("mutual-recursion", ALL) + &agents));
    let called = client.run("mutual-recursion", json!({"n": 1}));
    assert!(called.is_error() && called.text().contains("cycle"), "{}", called.result());
    assert_eq!(called.usage()["calls"], 2, "a, then b; b's call of a is the cycle");
}

#[test]
fn a_call_chain_is_stopped_at_its_depth_limit() {
    let agents: String = (0..10).map(|n| agent(&format!("d{n}"), "deep-chain", ALL)).collect();
    let mut client = Client::of(&(plugin("deep-chain", ALL) + &agents + &plugin("echo", "")));
    let called = client.run("deep-chain", json!({}));
    assert_eq!(called.code(), "depth-exceeded", "{}", called.result());
    assert_eq!(called.number("limit"), 8);
    assert_eq!(called.usage()["calls"], 8);
    client.check_alive();
}

#[test]
fn a_nested_call_spends_its_callers_fuel() {
    let mut client = Client::of(&(plugin("relay", ALL) + &agent("burn", "burn", "") + &plugin("burn", "")));
    let alone = client.run("burn", json!({"n": 10_000_000})).usage()["fuel"].as_u64().unwrap();
    let called = client.run("relay", json!({"path": "burn.run", "n": 10_000_000}));
    called.good();
    let through = called.usage()["fuel"].as_u64().unwrap();
    assert!(through > alone, "{through} for a call that holds one of {alone}");
}

#[test]
fn a_nested_call_is_limited_to_its_callers_fuel() {
    let rich = "limits.fuel = 1_000_000_000_000";
    let config = plugin("relay", &format!("{ALL}\nlimits.fuel = 50_000_000")) + &agent("burn", "burn", rich);
    let mut client = Client::of(&config);
    let called = client.run("relay", json!({"path": "burn.run", "n": 1_000_000_000}));
    assert_eq!(called.code(), "fuel-exhausted", "{}", called.result());
    let used = called.usage()["fuel"].as_u64().unwrap();
    assert!((50_000_000..60_000_000).contains(&used), "{used}");
}

#[test]
fn a_nested_call_measured_in_ticks_spends_its_callers_fuel() {
    let ticks = "limits.metering = \"ticks\"\nlimits.cpu = \"10s\"";
    let config = plugin("relay", &format!("{ALL}\nlimits.fuel = 300_000_000")) + &agent("spin", "spin", ticks);
    let mut client = Client::of(&config);
    let called = client.run("relay", json!({"path": "spin.run"}));
    assert!(called.is_error(), "{}", called.result());
    assert!(called.usage()["cpuMs"].as_f64().unwrap() < 1000.0, "one unit of fuel is a nanosecond: {}", called.usage());
}

#[test]
fn a_nested_call_is_limited_to_its_callers_time() {
    let config = plugin("relay", &format!("{ALL}\nlimits.deadline = \"400ms\"")) + &agent("wait", "wait-forever", "");
    let mut client = Client::of(&config);
    let called = client.run("relay", json!({"path": "wait.run"}));
    assert_eq!(called.code(), "deadline-exceeded", "{}", called.result());
    assert_eq!(called.number("limitMs"), 400);
}

#[test]
fn a_nested_call_has_grants_of_its_own() {
    let grant = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;
    let reader = suite::paths::guest("read-inside");
    let config = plugin("relay", ALL) + &agent("reader", "read-inside", grant) + &plugin_from("bare", &reader, "");
    let mut client = Client::of(&config);
    assert_eq!(client.run("relay", json!({"path": "reader.run"})).good(), "inside");
    assert!(client.run("bare", json!({})).is_error(), "a grant of the agent's side is not one of the plugin's");
}

#[test]
fn a_broken_agent_tool_breaks_only_its_call() {
    let config =
        plugin("relay", ALL) + &agent("panic", "panic", "") + &agent("eat", "eat-memory", "") + &plugin("echo", "");
    let mut client = Client::of(&config);
    for tool in ["panic.run", "eat.run"] {
        let called = client.run("relay", json!({"path": tool}));
        assert!(called.is_error(), "{tool}: {}", called.result());
        assert!(!called.result().to_string().contains("wasmtime"), "{tool}: {}", called.result());
        client.check_alive();
    }
}
