//! `act:tools-sync`, and `act:tools`, which is refused.

use super::{refused, speaks};
use serde_json::{Value, json};
use suite::{Client, Home, Server, plugin, portcullis};

#[test]
fn tools_of_act_are_listed_and_called() {
    let mut client = Client::of(&plugin("act-notes", ""));
    let tools = client.tools();
    let back = tools.iter().find(|tool| tool["name"] == "act-notes__back").unwrap();
    assert_eq!(back["description"], "Returns what it got.", "in English: {back}");
    assert_eq!(
        (&back["annotations"]["readOnlyHint"], &back["annotations"]["destructiveHint"]),
        (&json!(true), &json!(false))
    );
    let mut call = |tool: &str, arguments: Value| client.call(&format!("act-notes__{tool}"), arguments);
    // Through CBOR and back, with what the schema does not name.
    let given = json!({"n": -7, "nested": {"a": [1.5, null, true, "é"], "b": 18_446_744_073_709_551_615_u64}});
    let back = call("back", given.clone());
    assert_eq!(back.result()["structuredContent"], given, "{}", back.result());
    assert_eq!(serde_json::from_str::<Value>(&back.good()).unwrap(), given);
    assert_eq!(call("json", json!({})).result()["structuredContent"], json!({"notes": [1, 2]}));
    let kinds = call("kinds", json!({}));
    let content = json!([
        {"type": "text", "text": "# é"},
        {"type": "image", "data": "AQL/", "mimeType": "image/png"},
        {"type": "audio", "data": "Aw==", "mimeType": "audio/wav"},
        {"type": "text", "text": "AP8="},
    ]);
    assert_eq!(kinds.result()["content"], content);
    assert!(kinds.result().get("structuredContent").is_none(), "of several parts, none is the result");
    assert_eq!(call("large", json!({})).good().len(), 2 << 20);
    assert_eq!(call("back", json!({"n": "x"})).code(), "invalid-arguments");
    for (tool, reason) in [("refuse", "not these"), ("fail", "it was not to be")] {
        let failed = call(tool, json!({}));
        assert!(failed.is_error() && failed.text().contains(reason), "{}", failed.result());
    }
    let late = call("fail-late", json!({}));
    let content = json!([{"type": "text", "text": "first"}, {"type": "text", "text": "too late"}]);
    assert!(late.is_error() && late.result()["content"] == content, "nothing follows an error: {}", late.result());
}

#[test]
fn a_hostile_component_of_act_is_bounded() {
    let limits = "limits.fuel = 2_000_000_000\nlimits.deadline = \"20s\"\nlimits.breaker.failures = 0";
    let config = plugin("act-hostile", limits) + &plugin("echo", "");
    let mut client = Client::of_server(Server::measurable(Home::new(), &config, &[], |_| {}));
    assert!(
        client
            .tools()
            .iter()
            .find(|tool| tool["name"] == "act-hostile__run")
            .unwrap()
            .get("annotations")
            .is_none_or(|hints| hints["readOnlyHint"] != true)
    );
    let ((), grown) = client.measured(|client| {
        let mut run = |what: &str| client.call("act-hostile__run", json!({ "what": what }));
        for what in ["deep", "length", "wide", "halves", "text", "json", "many"] {
            assert_eq!(run(what).code(), "invalid-output", "{what}");
        }
        assert_eq!(run("giant").code(), "hostcall-exceeded");
        assert_eq!(run("spin").code(), "fuel-exhausted");
    });
    assert!(grown < 128 << 20, "the server took {} MiB more", grown >> 20);
    client.check_alive();
}

#[test]
fn what_of_act_is_not_run_is_refused() {
    speaks("act-notes", "act:tools-sync");
    refused("act-broken", &["it cannot list its tools: the list is lost"]);
    let home = Home::new();
    let shell = r#"(component (instance $i) (export "act:tools/tool-provider@0.2.0" (instance $i)))"#;
    // A function of the same type under another name, and a stream inside: refused for what they are, not for a name.
    let function = r#"(component
        (core module $m (func (export "run") (result i32) i32.const 0) (func (export "next") (param i32 i32 i32) (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (func (export "run") async (canon lift (core func $i "run") async (callback (func $i "next")))))"#;
    let stream = r#"(component (type $s (stream u8)) (core func $new (canon stream.new $s))
        (core module $m (func (export "run"))) (core instance $i (instantiate $m))
        (func (export "run") (canon lift (core func $i "run"))))"#;
    let why = "could not count the stacks of tasks and the copies in streams as memory and fuel";
    for (text, words) in [
        (shell, ["asynchronous (WASI 0.3)", "give it the synchronous tier", "act:tools-sync/tool-provider-sync"]),
        (function, ["asynchronous functions, streams and futures", "does not run", "build it for WASI 0.2"]),
        (stream, ["asynchronous functions, streams and futures", "does not run", "build it for WASI 0.2"]),
    ] {
        let file = home.write("composed.wasm", wat::parse_str(text).unwrap()).display().to_string();
        let ran = portcullis(&home, &["check", &file]);
        for word in words.into_iter().chain([why]) {
            assert!(ran.refused().contains(word), "{word:?} is not in: {}", ran.stderr);
        }
    }
}
