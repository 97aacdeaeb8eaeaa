//! Requests that must be refused: tools that were not offered, continuations of other calls, and answers that are
//! repeated, late or missing.

use super::{
    EXTENSION, able, answer, asked, call, config, declaring, first, retry, script, step_reports, through, tool, two,
};
use serde_json::{Value, json};
use suite::{Called, Client, Era, Server, agent, plugin};

/// A script with one call of the granted tool.
fn once() -> Value {
    json!([call("calendar.free_slots", 1)])
}

/// Starts a round with one call: returns the arguments of its request, its continuation and the call's key.
fn waiting(client: &mut Client) -> (Value, Value, String) {
    let (arguments, called) = first(client, once());
    let key = asked(&called).keys().next().unwrap().clone();
    (arguments, called.result()["continuation"].clone(), key)
}

fn go_on(client: &mut Client, arguments: &Value, continuation: &Value, outcomes: Value) -> Called {
    Called(client.request("tools/call", retry(arguments, continuation, outcomes)))
}

/// What the plugin receives when the client answers its one call with this outcome.
fn told(outcome: Value) -> Value {
    let mut client = able(Era::Modern, two());
    let (arguments, continuation, key) = waiting(&mut client);
    step_reports(&go_on(&mut client, &arguments, &continuation, json!({key: outcome})))[0].clone()
}

#[test]
fn a_tool_that_is_not_offered_is_not_called() {
    for era in Era::ALL {
        // Granted but not declared; declared but not granted; neither.
        let mut client = able(era, two());
        for (name, error) in [("slow.down", "unknown-tool"), ("mail.send", "denied"), ("mail.read", "denied")] {
            let (said, rounds, called) = through(&mut client, json!([call(name, 1)]), answer);
            assert_eq!((&said[0]["error"], rounds.len()), (&json!(error), 0), "{era:?} {name}");
            assert!(called.0.notifications.is_empty(), "nothing is asked on any way");
        }
        // Nothing declared, calls not allowed, or no common lane.
        let wrong_lane = declaring(&[tool("calendar.free_slots")], json!({"lanes": ["live", "warp"]}));
        let forbidden = declaring(&[tool("calendar.free_slots")], json!({"allowServerCalls": false}));
        for (abilities, word) in [(json!({}), EXTENSION), (forbidden, EXTENSION), (wrong_lane, "lanes")] {
            let (said, rounds, _) = through(&mut able(era, abilities), once(), answer);
            assert_eq!((&said[0]["error"], rounds.len()), (&json!("not-supported"), 0), "{era:?}");
            assert!(said[0]["why"].as_str().unwrap().contains(word), "{said}");
        }
    }
}

#[test]
fn a_tool_that_needs_client_tools_names_the_missing_capability() {
    let mut arguments = script(once());
    arguments["n"] = json!(1);
    let mut client = able(Era::Modern, json!({}));
    let refused = client.request("tools/call", json!({"name": "agent-calls__run", "arguments": arguments}));
    assert_eq!(refused.error_code(), -32021);
    let required = &refused.message["error"]["data"]["requiredCapabilities"];
    assert_eq!(required["extensions"][EXTENSION]["allowServerCalls"], true, "{required}");
    let mut client = able(Era::Legacy, json!({}));
    assert_eq!(client.call("agent-calls__run", arguments).code(), "unsupported");
}

#[test]
fn a_malformed_declaration_is_refused_with_the_reason() {
    for era in Era::ALL {
        let mut client = able(era, declaring(&[json!({"name": "no schema"})], json!({})));
        let refused = client.request("tools/call", json!({"name": "agent-calls__run", "arguments": script(once())}));
        assert_eq!(refused.error_code(), -32602, "{era:?}");
        let message = refused.message["error"]["message"].as_str().unwrap();
        assert!(message.contains(EXTENSION) && message.contains("inputSchema"), "{message}");
    }
}

#[test]
fn arguments_that_violate_the_schema_are_never_sent() {
    let mut client = able(Era::Modern, two());
    for bad in
        [json!({"arguments": {"day": "x"}}), json!({"arguments": {}}), json!({"raw": "[1]"}), json!({"raw": "{"})]
    {
        let mut step = call("calendar.free_slots", 1);
        step["call"].as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        let (said, rounds, _) = through(&mut client, json!([step]), answer);
        assert_eq!((&said[0]["error"], rounds.len()), (&json!("invalid-arguments"), 0), "{bad}");
    }
    // An invalid schema is only detected when it is used.
    let mut broken = tool("calendar.broken");
    broken["inputSchema"] = json!({"type": "object", "properties": {"day": {"type": "nonsense"}}});
    client.abilities = declaring(&[tool("calendar.free_slots"), broken], json!({}));
    let (said, rounds, _) =
        through(&mut client, json!([call("calendar.free_slots", 1), call("calendar.broken", 1)]), answer);
    assert_eq!((&said[1]["error"], rounds), (&json!("invalid-arguments"), vec![1]));
}

#[test]
fn a_continuation_works_once_and_only_for_its_own_call() {
    let mut client = able(Era::Modern, two());
    let (arguments, continuation, key) = waiting(&mut client);
    let outcomes = json!({key: {"content": []}});
    let mut refused = |params: Value| {
        let refused = client.request("tools/call", params);
        assert_eq!(refused.error_code(), -32602);
        refused.message["error"]["message"].as_str().unwrap().to_owned()
    };
    let text = continuation.as_str().unwrap();
    let flipped = format!("{}{}", if text.starts_with('A') { 'B' } else { 'A' }, &text[1..]);
    for forged in [json!(flipped), json!(""), json!("AAAA")] {
        assert_eq!(refused(retry(&arguments, &forged, outcomes.clone())), "Invalid or expired continuation");
    }
    for odd in [json!(7), json!({})] {
        assert!(refused(retry(&arguments, &odd, outcomes.clone())).contains("not a string"));
    }
    assert!(refused(retry(&arguments, &continuation, json!([]))).contains("not an object"));
    // With other arguments, as `requestState`, and as both.
    let moved = script(json!([call("calendar.free_slots", 2)]));
    assert_eq!(refused(retry(&moved, &continuation, outcomes.clone())), "Invalid or expired continuation");
    let as_state = json!({"name": "agent-calls__run", "arguments": arguments, "requestState": continuation});
    assert_eq!(refused(as_state), "Invalid or expired requestState");
    let mut both = retry(&arguments, &continuation, outcomes.clone());
    both["requestState"] = continuation.clone();
    assert!(refused(both).contains("not with both"));
    // None of these attempts consumed the continuation; this one does.
    let called = go_on(&mut client, &arguments, &continuation, outcomes.clone());
    assert_eq!(step_reports(&called)[0]["text"], "None");
    let used = client.request("tools/call", retry(&arguments, &continuation, outcomes));
    assert_eq!(used.error_code(), -32602);
    // Conversely, the state of a question is not a continuation.
    let (arguments, called) = first(&mut client, json!([{"ask": "who"}]));
    let state = called.result()["requestState"].clone();
    let refused = client.request("tools/call", retry(&arguments, &state, json!({})));
    assert_eq!(refused.error_code(), -32602);
}

#[test]
fn a_second_round_without_the_declaration_has_no_tools() {
    let mut client = able(Era::Modern, two());
    let (arguments, called) = first(&mut client, json!([call("calendar.free_slots", 1), {"list": true}]));
    let key = asked(&called).keys().next().unwrap().clone();
    let continuation = called.result()["continuation"].clone();
    client.abilities = json!({});
    let said = step_reports(&go_on(&mut client, &arguments, &continuation, json!({key: {"content": []}})));
    assert_eq!((&said[0]["error"], &said[1]), (&json!("not-supported"), &json!([])));
}

#[test]
fn every_outcome_is_typed() {
    let error = |code: &str| told(json!({"error": {"code": code, "message": "because"}}));
    for (code, kind) in [
        ("declined", "declined"),
        ("unknown-tool", "unknown-tool"),
        ("invalid-arguments", "invalid-arguments"),
        ("timeout", "timeout"),
        ("cancelled", "cancelled"),
        ("exhausted", "exhausted"),
        ("failed", "failed"),
        ("whatever", "failed"),
    ] {
        assert_eq!(error(code)["error"], kind, "{code}");
    }
    assert!(error("declined")["why"].as_str().unwrap().contains("because"));
    assert_eq!(told(json!({"content": [{"type": "text", "text": "no"}], "isError": true}))["error"], "tool-error");
    for nonsense in
        [json!(null), json!("text"), json!({}), json!({"content": [{"type": "odd"}]}), json!({"_meta": "x"})]
    {
        assert_eq!(told(nonsense.clone())["error"], "failed", "{nonsense}");
    }
    let edited =
        told(json!({"content": [], "structuredContent": {"a": 1}, "_meta": {"dev.portcullis/edited": {"day": 9}}}));
    assert_eq!((&edited["edited"], &edited["structured"]), (&json!({"day": 9}), &json!({"a": 1})));
    // A call without an outcome counts as failed.
    let mut client = able(Era::Modern, two());
    let (arguments, continuation, _) = waiting(&mut client);
    let said = step_reports(&go_on(&mut client, &arguments, &continuation, json!({"other": {"content": []}})));
    assert_eq!(said[0]["error"], "failed");
}

#[test]
fn a_late_answer_is_a_timeout() {
    let mut client = able(Era::Modern, two());
    let mut step = call("calendar.free_slots", 1);
    step["call"]["timeoutMs"] = json!(50);
    let (arguments, called) = first(&mut client, json!([step]));
    let (key, fields) = asked(&called).iter().next().unwrap();
    let late = json!({key: answer(fields)});
    let continuation = called.result()["continuation"].clone();
    // The call's own timeout must pass; a client cannot shorten it.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let said = step_reports(&go_on(&mut client, &arguments, &continuation, late));
    assert_eq!(said[0]["error"], "timeout", "{said}");
}

#[test]
fn a_private_answer_is_not_passed_to_other_tools() {
    let steps = json!([call("calendar.free_slots", 1), {"call": {"name": "echo.run"}}, call("calendar.free_slots", 2)]);
    let mut private = tool("calendar.free_slots");
    private["private"] = json!(true);
    let of_answer = |call: &Value| {
        let mut result = answer(call);
        result["_meta"] = json!({"dev.portcullis/private": true});
        result
    };
    let of_failure = |_: &Value| json!({"content": [], "isError": true, "_meta": {"dev.portcullis/private": true}});
    for (tools, answer) in [
        (private, answer as fn(&Value) -> Value),
        (tool("calendar.free_slots"), of_answer),
        (tool("calendar.free_slots"), of_failure),
    ] {
        let abilities = declaring(&[tools], json!({}));
        let mut client =
            Client::able(Server::start(&(config() + &agent("echo", "echo", ""))), Era::Modern, false, abilities);
        let (said, rounds, _) = through(&mut client, steps.clone(), answer);
        assert_eq!((&said[1]["error"], rounds), (&json!("denied"), vec![1, 1]), "{said}");
        assert!(said[1]["why"].as_str().unwrap().contains("client -> agent.echo"), "{said}");
    }
}

#[test]
fn the_hosts_tool_takes_precedence_over_a_client_tool() {
    let abilities = declaring(&[tool("echo.run")], json!({}));
    let mut client =
        Client::able(Server::start(&(config() + &agent("echo", "echo", ""))), Era::Modern, false, abilities);
    let (said, rounds, _) = through(&mut client, json!([{"list": true}, {"call": {"name": "echo.run"}}]), answer);
    assert_eq!((&said[0], rounds.len()), (&json!(["echo.run"]), 0));
    assert!(said[1]["origin"].as_str().unwrap().contains("Component"), "{said}");
}

#[test]
fn a_continuation_field_without_a_continuation_is_ignored() {
    // A declaration has no effect on a tool that makes no reverse calls.
    let mut client = Client::able(Server::start(&plugin("echo", "")), Era::Modern, false, two());
    client.check_alive();
    let params = json!({"name": "echo__run", "arguments": {}, "_meta": {EXTENSION: {"results": {}}}});
    assert!(!Called(client.request("tools/call", params)).is_error());
}
