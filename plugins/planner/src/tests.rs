//! The planner against scripted calendars.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use portcullis_guest::agent_tools::AgentError;
use portcullis_guest::testing::{self, Host};
use portcullis_guest::{Denial, ToolError};
use serde_json::{Value, json};

use crate::planner::PLUGIN;

/// Fridays have three free hours, other days one.
fn slots(arguments: &Value) -> Value {
    let day = arguments["day"].as_str().unwrap();
    let slots =
        if day == "2026-12-04" || day == "2026-12-11" { vec!["10:00", "11:00", "12:00"] } else { vec!["09:00"] };
    json!({ "day": day, "slots": slots })
}

fn event(arguments: &Value) -> Value {
    json!({ "id": "e1", "day": arguments["day"], "start": arguments["start"], "title": arguments["title"] })
}

fn calendar() -> Host {
    let host = Host::new().agent_tool("calendar.free_slots", |arguments| Ok(slots(&arguments)));
    host.agent_tool("calendar.create_event", |arguments| Ok(event(&arguments)))
}

fn plan(host: &Host, more: Value) -> Result<Value, ToolError> {
    let mut arguments = json!({ "title": "Portcullis", "from": "2026-12-01" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let result = host.call(&PLUGIN, "plan_day", arguments)?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

#[test]
fn twenty_days_are_asked_for_and_one_event_is_made() {
    let host = calendar();
    let plan = plan(&host, json!({})).unwrap();
    assert_eq!(plan["tools"], json!(["calendar.create_event", "calendar.free_slots"]));
    assert_eq!(plan["days"].as_array().unwrap().len(), 20);
    assert_eq!((&plan["days"][0]["day"], &plan["days"][19]["day"]), (&json!("2026-12-01"), &json!("2026-12-20")));
    let wanted = json!({
        "status": "created", "id": "e1", "day": "2026-12-04", "start": "10:00", "title": "Portcullis", "edited": false
    });
    assert_eq!(plan["event"], wanted, "the first of the emptiest days");
    let calls = host.agent_calls();
    let named = |name: &str| calls.iter().filter(|call| call.name == name).count();
    assert_eq!((named("calendar.free_slots"), named("calendar.create_event")), (20, 1));
    assert_eq!(calls[0].options.purpose.as_deref(), Some("find a free hour on 2026-12-01"));
    let chunks = host.chunk_texts();
    assert_eq!((chunks.len(), chunks[0].as_str()), (4, "2026-12-01 to 2026-12-05: 7 free hours"));
    assert_eq!(host.progress().last().unwrap().done, 20.0);
}

#[test]
fn what_is_not_known_of_a_day_is_told() {
    let host = calendar().agent_tool("calendar.free_slots", |arguments| match arguments["day"].as_str() {
        Some("2026-12-02") => Err(AgentError::Timeout(Duration::from_millis(7))),
        _ => Ok(slots(&arguments)),
    });
    let told = plan(&host, json!({ "days": 3 })).unwrap();
    assert_eq!(told["days"][1], json!({ "day": "2026-12-02", "slots": [], "unknown": "no answer within 7 ms" }));
    assert_eq!(told["event"]["status"], "created");

    let nobody = || AgentError::NotSupported("the client declared no tools".into());
    let host = calendar().agent_tool("calendar.free_slots", move |_| Err::<Value, _>(nobody()));
    assert!(matches!(plan(&host, json!({})), Err(ToolError::Unsupported(_))));
    assert_eq!(host.agent_calls().len(), 20);
}

#[test]
fn a_no_to_the_event_leaves_the_plan() {
    let host =
        calendar().agent_tool("calendar.create_event", |_| Err::<Value, _>(AgentError::Declined("not now".into())));
    let declined = plan(&host, json!({})).unwrap();
    assert_eq!(declined["event"], json!({ "status": "not-created", "reason": "declined: not now" }));
    let full = calendar().agent_tool("calendar.free_slots", |_| Ok(json!({ "slots": [] })));
    assert_eq!(plan(&full, json!({ "days": 2 })).unwrap()["event"], json!({ "status": "nothing-free" }));
    let odd = calendar().agent_tool("calendar.create_event", |_| Ok(json!({ "made": true })));
    let reason = plan(&odd, json!({})).unwrap()["event"]["reason"].clone();
    assert!(reason.as_str().unwrap().starts_with("the agent tool's answer is not what was expected"), "{reason}");
}

#[test]
fn every_mishap_is_told_in_a_line() {
    let denial = Denial { capability: "agent-tools".into(), target: "mail.send".into(), remedy: "Grant it.".into() };
    let host = calendar()
        .agent_tool("mail.send", move |_| Err::<Value, _>(AgentError::Denied(denial.clone())))
        .agent_tool("calendar.sync", |_| Err::<Value, _>(AgentError::Timeout(Duration::from_millis(200))))
        .agent_tool("assistant.plan_day", |arguments| {
            let ended = json!([{ "ended": "`assistant.plan_day` is already being called in this chain" }]);
            let mishaps = if arguments.get("mishaps").is_some() { ended } else { json!([]) };
            Ok(json!({ "event": { "status": "created" }, "mishaps": mishaps }))
        });
    let all = ["ungranted", "unknown", "slow", "deeper", "itself"];
    let told = plan(&host, json!({ "days": 1, "mishaps": all })).unwrap();
    let ended: Vec<&str> = told["mishaps"].as_array().unwrap().iter().map(|m| m["ended"].as_str().unwrap()).collect();
    assert_eq!(
        ended,
        [
            "denied: agent-tools does not allow `mail.send`. Grant it.",
            "there is no agent tool `calendar.burn`",
            "no answer within 200 ms",
            "it says: created",
            "it says: `assistant.plan_day` is already being called in this chain",
        ]
    );
    let slow = host.agent_calls().into_iter().find(|call| call.name == "calendar.sync").unwrap();
    assert_eq!(slow.options.timeout, Some(Duration::from_millis(200)));
}

#[test]
fn a_cancelled_call_stops() {
    let host = calendar().agent_tool("calendar.free_slots", |_| Err::<Value, _>(AgentError::Cancelled));
    assert_eq!(plan(&host, json!({})), Err(ToolError::Cancelled));
    assert_eq!(host.agent_calls().len(), 5, "no batch after the first");
    let host = calendar();
    host.close_output();
    assert_eq!(plan(&host, json!({})), Err(ToolError::Cancelled));
}

#[test]
fn calls_are_counted() {
    let host = calendar();
    let result = host.call(&PLUGIN, "overhead", json!({})).unwrap();
    assert_eq!(result.structured.as_deref(), Some(r#"{"calls":100,"succeeded":100}"#));
    assert_eq!(host.agent_calls().len(), 100);
    let nobody = Host::new().call(&PLUGIN, "overhead", json!({ "calls": 3 })).unwrap();
    assert_eq!(nobody.structured.as_deref(), Some(r#"{"calls":3,"succeeded":0}"#));
}

#[test]
fn asks_for_what_it_uses() {
    let manifest: Value = serde_json::from_str(PLUGIN.manifest()).unwrap();
    assert_eq!(manifest["requests"], json!({ "agent-tools": ["calendar.*", "assistant.*", "mail.send"] }));
    let input: Value = serde_json::from_str(&testing::tool(&PLUGIN, "plan_day").input_schema).unwrap();
    assert_eq!((&input["required"], &input["properties"]["days"]["default"]), (&json!(["title"]), &json!(20)));
}
