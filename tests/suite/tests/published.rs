//! Publishing and events, as the guest sees them.

use serde_json::json;
use suite::{Client, plugin};

/// What the guest was told, by what it tried.
fn told(text: &str, what: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{what}: ")));
    line.unwrap_or_else(|| panic!("nothing about {what} in\n{text}")).to_owned()
}

#[test]
fn publishing_needs_a_grant() {
    let mut client = Client::of(&plugin("publish-all", ""));
    let text = client.run("publish-all", json!({})).good();
    for what in ["put", "append", "escape", "large", "prompt", "nothing", "no-prompt"] {
        assert!(told(&text, what).contains("Denied"), "{text}");
    }
    assert!(told(&text, "put").contains("put this under [plugins.publish-all.grants]: publish = true"), "{text}");
    client.server.wait_for_log("denied: publish");
}

#[test]
fn what_may_be_published_is_bounded() {
    let mut client = Client::of(&plugin("publish-all", "grants.publish = true"));
    let text = client.run("publish-all", json!({"n": 300})).good();
    assert_eq!(told(&text, "put"), r#"Ok("portcullis://published/publish-all/report/today.txt")"#);
    assert_eq!(told(&text, "append"), told(&text, "put"));
    assert_eq!(told(&text, "prompt"), "Ok(())");
    for (what, why) in [
        ("append-bytes", "is text"),
        ("escape", "is not a path"),
        ("priority", "between 0 and 1"),
        ("bad-prompt", "name of a prompt"),
        ("large", "1048576"),
        ("nothing", "NotFound"),
        ("no-prompt", "NotFound"),
        ("flood", "1200"),
    ] {
        let told = told(&text, what);
        assert!(told.starts_with("Err") && told.contains(why), "{what}: {told}");
    }
}

#[test]
fn events_are_granted_by_name_told_once_and_not_too_often() {
    let mut client = Client::of(&plugin("event-flood", r#"grants.events = ["policy.*"]"#));
    let text = client.run("event-flood", json!({"n": 1_000})).good();
    assert_eq!((told(&text, "first"), told(&text, "again")), ("Ok(true)".into(), "Ok(false)".into()));
    assert_eq!(told(&text, "other-name"), "Ok(true)");
    assert!(told(&text, "ungranted").contains(r#"events = [\"trip.booked\"]"#), "{text}");
    assert!(told(&text, "no-name").contains("at least two words") && told(&text, "no-json").contains("not JSON"));
    assert!(told(&text, "large").contains("16384"), "{text}");
    let refused = text.lines().last().unwrap();
    assert!(refused.contains("Exhausted") && refused.contains("Stored") && refused.contains("60"), "{refused}");
}
