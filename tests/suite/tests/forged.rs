//! Plugins written by hand, byte by byte: what no compiler would make.

use serde_json::json;
use suite::{Called, Client, Era, Home, Server, forge, plugin, plugin_from, portcullis};

/// Loads a behaviour beside a good guest and runs it once.
fn run(behaviour: &str, settings: &str) -> Called {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::behaviour(behaviour));
    let config = plugin_from("forged", &source, settings) + &plugin("echo", "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let called = client.run("forged", json!({}));
    client.check_alive();
    called
}

/// What `check` says of a behaviour that may not even be loaded.
fn refused(behaviour: &str) -> String {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::behaviour(behaviour));
    portcullis(&home, &["check", &source.display().to_string()]).refused().to_owned()
}

#[test]
fn the_frame_is_a_good_plugin() {
    let home = Home::new();
    let source = home.write("forged.wasm", forge::plugin("(func $run)"));
    let mut client = Client::of(&plugin_from("forged", &source, ""));
    assert_eq!(client.run("forged", json!({})).good(), "");
}

#[test]
fn a_table_that_grows() {
    let called = run("table-grow", "");
    assert_eq!(called.code(), "table-exceeded", "{}", called.result());
    assert_eq!(called.number("limit"), 100_000);
    assert!(called.number("requested") >= 1_000_000, "{}", called.error());
}

#[test]
fn a_table_that_grows_within_its_limit() {
    run("table-grow-within", "").good();
}

#[test]
fn a_table_that_would_wrap_around() {
    let called = run("table-grow-wrap", "");
    // Growing costs fuel per element, so the fuel may be gone first.
    assert!(["table-exceeded", "fuel-exhausted"].contains(&called.code()), "{}", called.error());
}

#[test]
fn a_recursion_through_a_table() {
    assert_eq!(run("deep-call", "").code(), "stack-overflow");
}

#[test]
fn traps_are_told_apart() {
    for (behaviour, words) in [("divide", "divide by zero"), ("out-of-bounds", "out of bounds")] {
        let called = run(behaviour, "");
        assert_eq!(called.code(), "trap", "{behaviour}");
        let trap = called.error()["trap"].as_str().unwrap_or_default().to_owned();
        assert!(trap.contains(words), "{behaviour}: {trap}");
    }
}

#[test]
fn answers_that_no_answer_can_be() {
    for behaviour in ["answer-nowhere", "wrong-case"] {
        let called = run(behaviour, "");
        assert!(["trap", "invalid-output"].contains(&called.code()), "{behaviour}: {}", called.error());
    }
}

/// One piece of text that the answer names 60,000 times.
#[test]
fn an_answer_that_is_larger_than_the_memory_it_lies_in() {
    assert_eq!(run("amplify", "").code(), "hostcall-exceeded");
}

#[test]
fn cleaning_up_for_ever() {
    let called = run("spin-post-return", "limits.fuel = 20_000_000\nlimits.deadline = \"5s\"");
    assert_eq!(called.code(), "fuel-exhausted", "{}", called.result());
}

/// Instructions that work on megabytes each are not free.
#[test]
fn bulk_operations_end_too() {
    let called = run("bulk", "limits.deadline = \"1s\"\nlimits.fuel = 1_000_000_000_000");
    assert!(["deadline-exceeded", "fuel-exhausted"].contains(&called.code()), "{}", called.error());
    let wall = called.usage()["wallMs"].as_f64().unwrap();
    assert!(wall < 3000.0, "{wall} ms for a deadline of 1 s");
}

#[test]
fn what_needs_too_much_from_the_start_is_not_loaded() {
    let said = refused("start-section");
    assert!(said.contains("fuel"), "{said}");
    for behaviour in ["huge-memory", "huge-table", "many-memories", "many-tables"] {
        let said = refused(behaviour);
        assert!(!said.contains("internal"), "{behaviour}: {said}");
    }
}
