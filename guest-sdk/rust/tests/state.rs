//! Values that tools keep, against the fake host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use portcullis_guest::state::{self, StateError};
use portcullis_guest::testing::Host;
use portcullis_guest::{Budget, Exhaustion, ToolError};

#[test]
fn what_is_kept_is_found() {
    let host = Host::new().state("old", "x");
    assert_eq!(state::get("old").unwrap().unwrap().value, b"x");
    assert_eq!(state::get("new").unwrap(), None);
    let first = state::set("new", "1").unwrap();
    assert_eq!(state::swap("new", None, "2"), Err(StateError::Conflict));
    assert!(state::swap("new", Some(first), "2").unwrap() > first);
    assert_eq!(state::swap("new", Some(first), "3"), Err(StateError::Conflict));
    assert_eq!(host.kept("new").unwrap(), b"2");
    assert!(state::remove("new").unwrap() && !state::remove("new").unwrap());
    assert!(matches!(state::get("a b"), Err(StateError::Invalid(_))));
}

#[test]
fn json_is_changed_in_place() {
    let _host = Host::new();
    let add = |list: Option<Vec<u32>>| {
        let mut list = list.unwrap_or_default();
        list.push(list.len() as u32);
        list
    };
    state::update("list", add).unwrap();
    assert_eq!(state::update("list", add).unwrap(), [0, 1]);
    assert_eq!(state::load::<Vec<u32>>("list").unwrap().unwrap(), [0, 1]);
    assert!(matches!(state::load::<String>("list"), Err(StateError::Invalid(_))));
    for number in 0..250 {
        state::save(&format!("many/{number:03}"), &number).unwrap();
    }
    let keys = state::keys("many/").unwrap();
    assert!(keys.len() == 250 && keys.is_sorted() && state::keys("none").unwrap().is_empty());
}

#[test]
fn a_refusal_ends_the_call_as_what_it_is() {
    let _host = Host::new().state_limit(10);
    let full = StateError::Exhausted(Exhaustion { budget: Budget::Stored, limit: 10 });
    assert_eq!(state::set("key", [0; 8]), Err(full.clone()));
    assert!(matches!(ToolError::from(full), ToolError::Exhausted(_)));
    let _host = Host::new().deny("state");
    let denied = state::get("key").unwrap_err();
    assert!(denied.to_string().contains("Ask the user"), "{denied}");
    assert!(matches!(ToolError::from(denied), ToolError::Denied(_)));
}
