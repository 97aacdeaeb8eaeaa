//! The planner: twenty reverse calls in batches and one that changes something, and every way a reverse call can end.

use super::{Seen, client, through};
use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, Home, agent_from, paths, plugin_from};

const TOOL: &str = "planner__plan_day";
const GRANTS: &str = "grants.agent-tools = [\"calendar.*\", \"assistant.*\"]\n";
const FOLDER: &str = r#"grants.filesystem = [{ host = "work", guest = "/calendar", access = "write" }]"#;

/// The planner, and on the agent's side a calendar and another planner.
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
fn twenty_days_are_looked_at_and_one_event_is_made() {
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
fn every_end_of_a_call_is_told_in_a_line() {
    let mut client = start(Era::Modern, "");
    let mishaps = ["ungranted", "unknown", "misfit", "slow", "deeper", "itself"];
    let seen = plan_day(&mut client, json!({"days": 1, "mishaps": mishaps}));
    seen.called.good();
    let told = seen.called.result()["structuredContent"]["mishaps"].as_array().unwrap().clone();
    let ended: Vec<&str> = told.iter().map(|mishap| mishap["ended"].as_str().unwrap()).collect();
    let begins = [
        "denied: agent-tools does not allow `mail.send`. To allow it, put this under [plugins.planner.grants]:",
        "there is no agent tool `calendar.burn`",
        "invalid arguments: ",
        // What was left of 200 ms when the call was on its way.
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
fn a_chain_that_may_not_be_deeper_says_so() {
    let mut client = start(Era::Modern, "limits.depth = 1");
    let seen = plan_day(&mut client, json!({"days": 1, "mishaps": ["deeper"]}));
    let told = seen.called.result()["structuredContent"]["mishaps"][0]["ended"].as_str().unwrap().to_owned();
    assert!(told.contains("the limit on nesting of calls is reached: 1 levels"), "{told}");
}

#[test]
fn without_the_grant_nothing_can_be_planned() {
    let planner = plugin_from("planner", &paths::real_plugin("planner"), "");
    let config = planner + &agent_from("calendar", &paths::real_plugin("calendar"), FOLDER);
    for era in Era::ALL {
        let mut client = client(Home::new(), &config, era, json!({}));
        let seen = plan_day(&mut client, json!({}));
        assert_eq!(seen.called.code(), "denied", "{}", seen.called.result());
        assert!(seen.called.text().contains(r#"agent-tools = ["calendar.free_slots"]"#), "{}", seen.called.text());
        assert_eq!(seen.called.usage()["calls"], 0, "nothing was called");
        assert!(fs::read_dir(client.server.home.work()).unwrap().all(|file| !file.unwrap().path().ends_with(".json")));
    }
}

#[test]
fn a_hundred_calls_one_after_the_other() {
    let mut client = start(Era::Modern, "");
    let called = client.call("planner__overhead", json!({}));
    assert_eq!(called.result()["structuredContent"], json!({"calls": 100, "succeeded": 100}), "{}", called.result());
    assert_eq!(called.usage()["calls"], 100);
}
