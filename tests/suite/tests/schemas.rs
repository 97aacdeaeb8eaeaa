//! Untrusted JSON schemas that are expensive to process: they are refused when the plugin is loaded, or validation is
//! stopped. Other plugins are not affected.

use crate::install::{CONFIG, plugin};
use crate::reload::replace;
use serde_json::{Map, Value, json};
use std::time::Duration;
use suite::{Client, Era, Home, Server, forge, paths, plugin_from};

/// The time limit for one validation, in an unoptimised build on a busy machine.
const SOON: Duration = Duration::from_secs(5);

/// Definitions that each refer to the next one twice: following them takes 2^40 steps.
fn ladder(rung: impl Fn(Value) -> Value) -> String {
    let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
    let mut definitions: Map<String, Value> =
        (0..40).map(|number| (format!("d{number}"), rung(next(number)))).collect();
    definitions.insert("d40".into(), json!(false));
    json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions}).to_string()
}

#[test]
fn an_exponential_schema_is_refused_and_other_plugins_keep_working() {
    let twice = |next: Value| json!({"anyOf": [next, next]});
    let own = json!({"type": "object", "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}).to_string();
    let pattern = json!({"type": "object", "properties": {"a": {"pattern": "(a{1,1000}){1,1000}"}}}).to_string();
    let home = Home::new();
    let file = home.write("other.wasm", forge::plugin("(func $run)"));
    let config = plugin_from("echo", &paths::guest("echo"), "") + &plugin_from("other", &file, "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    // An answer shows that the initial files have been read.
    client.run("echo", json!({})).good();
    let installing = Home::new();
    installing.write("portcullis.toml", CONFIG);
    for (schema, words) in [(ladder(twice), "one location"), (own, "never ends"), (pattern, "at most 512 KiB large")] {
        let hostile = forge::with_schema("(func $run)", &schema);
        replace(&file, &hostile);
        let line = client.server.wait_for_log(words);
        assert!(line.contains("plugins.other") && line.contains("the old version stays"), "{line}");
        client.run("echo", json!({})).good();
        installing.write("hostile.wasm", &hostile);
        let refused = plugin(&installing, &["install", "./hostile.wasm", "--yes"]);
        assert!(refused.refused().contains(words), "{}", refused.stderr);
    }
}

#[test]
fn a_value_that_takes_too_long_to_validate_is_refused() {
    let home = Home::new();
    let down = |next: Value| json!({"properties": {"a": {"allOf": [next, next]}}});
    let file = home.write("other.wasm", forge::with_schema("(func $run)", &ladder(down)));
    let config = plugin_from("echo", &paths::guest("echo"), "") + &plugin_from("other", &file, "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let deep = (0..39).fold(json!({}), |inner, _| json!({"a": inner}));
    let called = client.call("other__run", deep);
    assert!(called.is_error() && called.result().to_string().contains("takes too long"), "{}", called.result());
    assert!(called.0.elapsed() < SOON, "{:?}", called.0.elapsed());
    assert!(!client.call("other__run", json!({"a": {"a": {}}})).is_error());
    client.run("echo", json!({})).good();
}
