//! The planner: twenty reverse calls in batches, one with an effect, and every outcome of a reverse call.

use super::{Seen, client, through};
use crate::client_tools::EXTENSION;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use suite::{Called, Client, Era, Home, agent_from, paths, plugin_from};

const TOOL: &str = "planner__plan_day";
const GRANTS: &str = "grants.agent-tools = [\"calendar.*\", \"assistant.*\"]\n";
const FOLDER: &str = r#"grants.filesystem = [{ host = "work", guest = "/calendar", access = "write" }]"#;

/// The planner, with an agent-side calendar and another agent-side planner.
pub(super) fn config(limits: &str) -> String {
    let planner = paths::real_plugin("planner");
    plugin_from("planner", &planner, &format!("{GRANTS}{limits}"))
        + &agent_from("calendar", &paths::real_plugin("calendar"), FOLDER)
        + &agent_from("assistant", &planner, GRANTS)
}

fn start(era: Era, limits: &str) -> Client {
    client(Home::new(), &config(limits), era, json!({}))
}

fn plan_day(client: &mut Client, more: Value) -> Seen {
    let mut arguments = json!({"title": "Portcullis", "from": "2026-12-01"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    through(client, TOOL, &arguments, |method, _| panic!("{method} was asked of the client"))
}

#[test]
fn twenty_days_are_read_and_one_event_is_created() {
    let results = Era::ALL.map(|era| {
        let mut client = start(era, "");
        let seen = plan_day(&mut client, json!({}));
        seen.called.good();
        let plan = &seen.called.result()["structuredContent"];
        assert_eq!(plan["days"].as_array().unwrap().len(), 20, "{plan}");
        assert!(
            plan["days"].as_array().unwrap().iter().all(|day| day["slots"].as_array().unwrap().len() == 2),
            "{plan}"
        );
        let event = json!({
            "status": "created", "id": "2026-12-01-11", "day": "2026-12-01", "start": "11:00", "title": "Portcullis",
            "edited": false
        });
        assert_eq!(plan["event"], event);
        assert_eq!(seen.called.usage()["calls"], 21);
        let tools = ["assistant.overhead", "assistant.plan_day", "calendar.create_event", "calendar.free_slots"];
        assert_eq!(plan["tools"], json!([tools.as_slice(), &["calendar.sync"]].concat()));
        let kept = fs::read_to_string(client.server.home.work().join("2026-12-01-11.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap()["title"], "Portcullis");

        let again = plan_day(&mut client, json!({}));
        let event = &again.called.result()["structuredContent"]["event"];
        assert_eq!(
            (&event["day"], &event["start"]),
            (&json!("2026-12-02"), &json!("10:00")),
            "the first day has less now"
        );
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn every_outcome_of_a_reverse_call_is_reported() {
    let mut client = start(Era::Modern, "");
    let mishaps = ["ungranted", "unknown", "misfit", "slow", "deeper", "itself"];
    let seen = plan_day(&mut client, json!({"days": 1, "mishaps": mishaps}));
    seen.called.good();
    let told = seen.called.result()["structuredContent"]["mishaps"].as_array().unwrap().clone();
    let ended: Vec<&str> = told.iter().map(|mishap| mishap["ended"].as_str().unwrap()).collect();
    let begins = [
        "denied: agent-tools does not allow `mail.send`. Ask the user, who alone can allow it",
        "agent tools are not supported: this host has no tool `calendar.burn`, and the client of this call has declared none",
        "invalid arguments: ",
        // The rest of 200 ms when the call was made.
        "no answer within ",
        "it says: created",
        "it says: `assistant.plan_day is already being called in this chain: ",
    ];
    assert_eq!(ended.len(), begins.len(), "{ended:?}");
    for (ended, begin) in ended.iter().zip(begins) {
        assert!(ended.starts_with(begin), "{ended:?} instead of {begin:?}");
    }
}

#[test]
fn a_chain_at_the_depth_limit_is_reported() {
    let mut client = start(Era::Modern, "limits.depth = 1");
    let seen = plan_day(&mut client, json!({"days": 1, "mishaps": ["deeper"]}));
    let told = seen.called.result()["structuredContent"]["mishaps"][0]["ended"].as_str().unwrap().to_owned();
    assert!(told.contains("the limit on nesting of calls is reached: 1 levels"), "{told}");
}

#[test]
fn planning_without_the_grant_is_denied() {
    let planner = plugin_from("planner", &paths::real_plugin("planner"), "");
    let config = planner + &agent_from("calendar", &paths::real_plugin("calendar"), FOLDER);
    for era in Era::ALL {
        let mut client = client(Home::new(), &config, era, json!({}));
        let seen = plan_day(&mut client, json!({}));
        assert_eq!(seen.called.code(), "denied", "{}", seen.called.result());
        assert!(seen.called.text().contains("Ask the user, who alone can allow it\n"), "{}", seen.called.text());
        client.server.wait_for_log(r#"agent-tools = ["calendar.free_slots"]"#);
        assert_eq!(seen.called.usage()["calls"], 0, "nothing was called");
        assert!(fs::read_dir(client.server.home.work()).unwrap().all(|file| !file.unwrap().path().ends_with(".json")));
    }
}

#[test]
fn a_hundred_sequential_calls_succeed() {
    let mut client = start(Era::Modern, "");
    let called = client.call("planner__overhead", json!({}));
    assert_eq!(called.result()["structuredContent"], json!({"calls": 100, "succeeded": 100}), "{}", called.result());
    assert_eq!(called.usage()["calls"], 100);
}

/// The declaration of a client with a calendar, and with a mailbox that is not granted.
fn declaring() -> Value {
    let schema = json!({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]});
    let tools = ["calendar.free_slots", "calendar.create_event", "calendar.sync", "mail.send"];
    let tools = tools.map(|name| json!({"name": name, "inputSchema": schema}));
    json!({"extensions": {EXTENSION: {"allowServerCalls": true, "tools": tools}}})
}

/// A planner without an agent-side calendar in the host.
fn without_agent_calendar(era: Era, abilities: Value) -> Client {
    let config = plugin_from("planner", &paths::real_plugin("planner"), GRANTS);
    client(Home::new(), &config, era, abilities)
}

/// The answers of the client's calendar. Its user edits or refuses events by their title; the mailbox and the slow tool
/// are never called.
fn outcome(call: &Value) -> Value {
    let (arguments, plugin) = (&call["arguments"], &call["plugin"]);
    assert_eq!(plugin, "planner", "{call}");
    match call["name"].as_str().unwrap() {
        "calendar.free_slots" => {
            assert!(call["purpose"].as_str().unwrap().starts_with("find a free hour on "), "{call}");
            let free = json!({"day": arguments["day"], "slots": ["09:00"]});
            json!({"content": [], "structuredContent": free})
        }
        "calendar.create_event" if arguments["title"] == "refuse" => {
            json!({"error": {"code": "declined", "message": "the user said no"}})
        }
        "calendar.create_event" => {
            let mut made = arguments.clone();
            made["title"] = json!("edited");
            let mut event = made.clone();
            event["id"] = json!("e1");
            json!({"content": [], "structuredContent": event, "_meta": {"dev.portcullis/edited": made}})
        }
        other => panic!("{other} was called on the client"),
    }
}

/// Retries the call with the requested outcomes until it has a result; also counts the reverse calls by name.
fn with_calendar(client: &mut Client, arguments: &Value) -> (Called, BTreeMap<String, usize>) {
    let mut counts = BTreeMap::new();
    let mut called = client.call(TOOL, arguments.clone());
    while called.result()["resultType"] == EXTENSION {
        let mut outcomes = json!({});
        for (key, call) in called.result()["toolCalls"].as_object().unwrap() {
            *counts.entry(call["name"].as_str().unwrap().to_owned()).or_default() += 1;
            outcomes[key] = outcome(call);
        }
        let brought = json!({"continuation": called.result()["continuation"], "results": outcomes});
        let params = json!({"name": TOOL, "arguments": arguments, "_meta": {EXTENSION: brought}});
        called = Called(client.request("tools/call", params));
    }
    (called, counts)
}

#[test]
fn a_client_may_edit_or_refuse_calls_and_ungranted_calls_are_not_sent() {
    let mut client = without_agent_calendar(Era::Modern, declaring());
    let mishaps = ["ungranted", "unknown", "misfit", "deeper"];
    let arguments = json!({"title": "keep", "from": "2026-12-01", "mishaps": mishaps});
    let (called, counts) = with_calendar(&mut client, &arguments);
    called.good();
    assert_eq!(counts, BTreeMap::from([("calendar.free_slots".into(), 20), ("calendar.create_event".into(), 1)]));
    let plan = &called.result()["structuredContent"];
    assert_eq!((&plan["event"]["title"], &plan["event"]["edited"]), (&json!("edited"), &json!(true)), "{plan}");
    assert_eq!(plan["tools"], json!(["calendar.create_event", "calendar.free_slots", "calendar.sync"]));
    let ended = plan["mishaps"].as_array().unwrap().iter().map(|mishap| mishap["ended"].as_str().unwrap());
    let begins = [
        "denied: agent-tools does not allow `mail.send`",
        "there is no agent tool `calendar.burn`",
        "invalid arguments: ",
        "there is no agent tool `assistant.plan_day`",
    ];
    for (ended, begin) in ended.zip(begins) {
        assert!(ended.starts_with(begin), "{ended:?} instead of {begin:?}");
    }

    let arguments = json!({"title": "refuse", "from": "2026-12-01", "days": 1});
    let (called, _) = with_calendar(&mut client, &arguments);
    let event = &called.result()["structuredContent"]["event"];
    assert_eq!(*event, json!({"status": "not-created", "reason": "declined: the user said no"}));
}

#[test]
fn a_client_without_declarations_gets_the_required_capability() {
    let mut modern = without_agent_calendar(Era::Modern, json!({}));
    let params = json!({"name": TOOL, "arguments": {"title": "x", "from": "2026-12-01"}});
    let answer = modern.request("tools/call", params.clone());
    assert_eq!(answer.error_code(), -32021, "{}", answer.message);
    let required = &answer.message["error"]["data"]["requiredCapabilities"];
    assert!(required["extensions"].get(EXTENSION).is_some(), "{}", answer.message);

    let mut legacy = without_agent_calendar(Era::Legacy, json!({}));
    assert_eq!(legacy.call(TOOL, params["arguments"].clone()).code(), "unsupported");

    // Each request is independent: the first one's declaration does not apply to the second.
    let mut forgetful = without_agent_calendar(Era::Modern, declaring());
    let called = forgetful.call(TOOL, params["arguments"].clone());
    let mut outcomes = json!({});
    for (key, call) in called.result()["toolCalls"].as_object().unwrap() {
        outcomes[key] = outcome(call);
    }
    forgetful.abilities = json!({});
    let brought = json!({"continuation": called.result()["continuation"], "results": outcomes});
    let mut retry = params;
    retry["_meta"] = json!({EXTENSION: brought});
    assert_eq!(forgetful.request("tools/call", retry).error_code(), -32021);
}
