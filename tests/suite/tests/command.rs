//! Commands that terminate, and their output for people and for scripts.

use serde_json::json;
use suite::{Home, Ran, agent, paths, plugin, portcullis};

fn run(config: &str, arguments: &[&str]) -> Ran {
    let home = Home::new();
    home.write("portcullis.toml", config);
    // The default configuration is ./portcullis.toml.
    portcullis(&home, arguments)
}

#[test]
fn a_call_prints_its_text_and_nothing_else_on_stdout() {
    let ran = run(&plugin("echo", ""), &["call", "echo", "run", r#"{"n": 3}"#]);
    let printed: serde_json::Value = serde_json::from_str(ran.good().trim()).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(printed, json!({"n": 3, "path": null}));
    assert!(ran.stderr.contains("fuel"), "a line of what it cost: {}", ran.stderr);
}

#[test]
fn a_call_shows_chunks_and_then_the_result() {
    let ran = run(&plugin("slow-stream", ""), &["call", "slow-stream", "run", r#"{"n": 3}"#]);
    let said = ran.good();
    let places: Vec<_> = ["part 0", "part 1", "part 2", "3 parts"].iter().map(|part| said.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
}

#[test]
fn a_call_that_fails_has_status_1_and_says_why() {
    let ran = run(&plugin("spin", "limits.fuel = 20_000_000"), &["call", "spin", "run"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("limits.fuel"), "{ran:?}");
    let config = plugin("relay", r#"grants.agent-tools = ["echo.run"]"#) + &agent("echo", "echo", "");
    let ran = run(&config, &["call", "relay", "run", r#"{"path": "notes.add"}"#]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("portcullis grant relay") || ran.stdout.contains("portcullis grant relay"), "{ran:?}");
}

#[test]
fn an_unknown_tool_is_reported_with_the_known_ones() {
    let config = plugin("echo", "");
    for (arguments, words) in [
        (vec!["call", "nobody", "run"], "echo"),
        (vec!["call", "echo", "walk"], "run"),
        (vec!["call", "echo", "run", "{"], "JSON"),
        (vec!["call", "echo", "run", "[]"], "object"),
        (vec!["call", "echo", "run", r#"{"n": "x"}"#], "n"),
    ] {
        let ran = run(&config, &arguments);
        assert_eq!(ran.status, Some(1), "{arguments:?}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(words), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn plugins_are_listed_and_shown() {
    let grant = r#"grants.agent-tools = ["echo.run"]"#;
    let config = plugin("relay", grant) + &plugin("burn", "") + &agent("echo", "echo", "");
    let listed = run(&config, &["plugin", "list"]);
    for name in ["relay", "burn", "echo"] {
        assert!(listed.good().contains(name), "{listed:?}");
    }
    let shown = run(&config, &["plugin", "show", "relay"]);
    for part in ["run", "agent-tools", "echo.run", "sha256:", "portcullis:plugin/agent-tools@0.1.0", "0.1.0"] {
        assert!(shown.good().contains(part), "{part} is not shown: {}", shown.stdout);
    }
    let missing = run(&config, &["plugin", "show", "nobody"]);
    assert!(missing.refused().contains("plugin list"), "it says where to look: {}", missing.stderr);
}

#[test]
fn check_prints_what_a_plugin_requests() {
    let home = Home::new();
    let ran = portcullis(&home, &["check", &paths::guest("relay").display().to_string()]);
    for part in ["relay", "run", "agent-tools", "*"] {
        assert!(ran.good().contains(part), "{part} is not said: {}", ran.stdout);
    }
    let ran = portcullis(&home, &["check", &paths::guest("echo").display().to_string()]);
    assert!(ran.good().contains("nothing"), "a plugin that requests nothing: {}", ran.stdout);
}

#[test]
fn the_example_configuration_is_complete_and_works() {
    let example = run("", &["config", "--example"]);
    let text = example.good();
    for key in [
        "[server]",
        "http",
        "[plugins.",
        "source",
        "prefix",
        "grants",
        "filesystem",
        "host",
        "guest",
        "access",
        "agent-tools",
        "limits",
        "metering",
        "fuel",
        "cpu",
        "memory",
        "deadline",
        "output",
        "chunk",
        "chunks",
        "calls",
        "depth",
        "log",
        "log-lines",
        "handles",
        "table-elements",
        "hostcall",
        "[agent.",
    ] {
        assert!(text.contains(key), "the example has no `{key}`");
    }
    // The configuration is parsed before any component is opened, so only the missing components are reported.
    let ran = run(text, &["plugin", "list"]);
    assert!(!ran.stderr.contains("line "), "the example does not parse: {}", ran.stderr);
    assert!(ran.stderr.contains(".wasm"), "{}", ran.stderr);
}

#[test]
fn a_missing_configuration_is_reported_with_a_remedy() {
    let home = Home::new();
    let ran = portcullis(&home, &["serve"]);
    assert!(ran.refused().contains("portcullis.toml") && ran.stderr.contains("config --example"), "{}", ran.stderr);
}
