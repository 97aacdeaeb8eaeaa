//! The tools on real folders, through the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use portcullis_guest::ToolError;
use portcullis_guest::testing::Host;
use serde_json::{Value, json};

use crate::calendar::PLUGIN;

fn call(host: &Host, tool: &str, arguments: Value) -> Result<Value, ToolError> {
    let result = host.call(&PLUGIN, tool, arguments)?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

#[test]
fn free_hours_follow_from_the_date() {
    let host = Host::new();
    let slots = |day: &str| call(&host, "free_slots", json!({ "day": day })).map(|day| day["slots"].clone());
    assert_eq!(slots("2026-12-01").unwrap(), json!(["11:00", "15:00"]));
    assert_eq!(slots("2026-12-04").unwrap(), json!(["12:00", "16:00"]));
    assert_eq!(slots("2027-12-04").unwrap(), json!(["12:00", "16:00"]));
    for no_date in ["2026-13-01", "2026-12-32", "today", "2026-12"] {
        assert!(matches!(slots(no_date), Err(ToolError::InvalidArguments(_))), "{no_date}");
    }
}

#[test]
fn an_event_takes_its_hour_once() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new().folder(folder.path());
    let event = json!({ "day": "2026-12-01", "start": "11:00", "title": "Portcullis" });
    let created = call(&host, "create_event", event.clone()).unwrap();
    assert_eq!(created["id"], "2026-12-01-11");
    let kept: Value = serde_json::from_slice(&fs::read(folder.path().join("2026-12-01-11.json")).unwrap()).unwrap();
    assert_eq!(kept, created);
    assert_eq!(call(&host, "create_event", event), Err(ToolError::failed("2026-12-01 11:00 is taken")));
    let day = call(&host, "free_slots", json!({ "day": "2026-12-01" })).unwrap();
    assert_eq!(day["slots"], json!(["15:00"]));
    let busy = call(&host, "create_event", json!({ "day": "2026-12-01", "start": "10:00", "title": "x" }));
    assert_eq!(busy, Err(ToolError::failed("2026-12-01 10:00 is not free")));
}

#[test]
fn without_a_folder_nothing_is_kept() {
    let denied = call(&Host::new(), "create_event", json!({ "day": "2026-12-01", "start": "11:00", "title": "x" }));
    assert!(matches!(denied, Err(ToolError::Denied(denial)) if denial.target == "/calendar"));
}
