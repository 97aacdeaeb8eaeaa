//! Hand-written plugins that no compiler would produce.

use serde_json::json;
use suite::{Called, Client, Era, Home, Server, forge, plugin, plugin_from, portcullis};

/// Loads a behaviour beside a valid guest and runs it once.
fn run(behaviour: &str, settings: &str) -> Called {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::behaviour(behaviour));
    let config = plugin_from("forged", &source, settings) + &plugin("echo", "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let called = client.run("forged", json!({}));
    client.check_alive();
    called
}

/// The refusal that `check` prints for a behaviour that must not be loaded.
fn refused(behaviour: &str) -> String {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::behaviour(behaviour));
    portcullis(&home, &["check", &source.display().to_string()]).refused().to_owned()
}

#[test]
fn the_unmodified_frame_is_a_valid_plugin() {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::plugin("(func $run)"));
    let mut client = Client::of(&plugin_from("forged", &source, ""));
    assert_eq!(client.run("forged", json!({})).good(), "");
}

#[test]
fn a_table_that_grows_past_its_limit_is_stopped() {
    let called = run("table-grow", "");
    assert_eq!(called.code(), "table-exceeded", "{}", called.result());
    assert_eq!(called.number("limit"), 100_000);
    assert!(called.number("requested") >= 1_000_000, "{}", called.error());
}

#[test]
fn a_table_may_grow_within_its_limit() {
    run("table-grow-within", "").good();
}

#[test]
fn a_table_growth_that_would_overflow_is_stopped() {
    let called = run("table-grow-wrap", "");
    // Growing costs fuel per element, so the fuel may be gone first.
    assert!(["table-exceeded", "fuel-exhausted"].contains(&called.code()), "{}", called.error());
}

#[test]
fn recursion_through_a_table_is_a_stack_overflow() {
    assert_eq!(run("deep-call", "").code(), "stack-overflow");
}

#[test]
fn traps_are_distinguished() {
    for (behaviour, words) in [("divide", "divide by zero"), ("out-of-bounds", "out of bounds")] {
        let called = run(behaviour, "");
        assert_eq!(called.code(), "trap", "{behaviour}");
        let trap = called.error()["trap"].as_str().unwrap_or_default().to_owned();
        assert!(trap.contains(words), "{behaviour}: {trap}");
    }
}

#[test]
fn malformed_answers_are_typed_errors() {
    for behaviour in ["answer-nowhere", "wrong-case"] {
        let called = run(behaviour, "");
        assert!(["trap", "invalid-output"].contains(&called.code()), "{behaviour}: {}", called.error());
    }
}

/// The answer refers to one string 60,000 times.
#[test]
fn an_answer_that_repeats_one_string_is_limited() {
    assert_eq!(run("amplify", "").code(), "hostcall-exceeded");
}

#[test]
fn an_endless_post_return_is_stopped() {
    let called = run("spin-post-return", "limits.fuel = 20_000_000\nlimits.deadline = \"5s\"");
    assert_eq!(called.code(), "fuel-exhausted", "{}", called.result());
}

/// Instructions that each process megabytes must not bypass the limits.
#[test]
fn bulk_operations_are_stopped_at_the_deadline() {
    let called = run("bulk", "limits.deadline = \"1s\"\nlimits.fuel = 1_000_000_000_000");
    assert!(["deadline-exceeded", "fuel-exhausted"].contains(&called.code()), "{}", called.error());
    let wall = called.usage()["wallMs"].as_f64().unwrap();
    assert!(wall < 3000.0, "{wall} ms for a deadline of 1 s");
}

#[test]
fn a_plugin_that_exceeds_limits_at_start_is_not_loaded() {
    let said = refused("start-section");
    assert!(said.contains("fuel"), "{said}");
    for behaviour in ["huge-memory", "huge-table", "many-memories", "many-tables"] {
        let said = refused(behaviour);
        assert!(!said.contains("internal"), "{behaviour}: {said}");
    }
}
