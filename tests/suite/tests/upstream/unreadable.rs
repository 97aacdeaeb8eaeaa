//! What a server sends that cannot be read, in part or at all.

use super::{Remote, misbehaving, names, until_found};
use serde_json::json;
use suite::Client;

#[test]
fn a_tool_that_cannot_be_read_does_not_hide_the_others() {
    let remote = Remote::start("bad-entries");
    for upstream in [misbehaving("bad-entries", ""), remote.config("/moved")] {
        let mut client = until_found(Client::of(&upstream));
        assert_eq!(names(&mut client), ["odd__bare", "odd__run"]);
        assert_eq!(
            client.server.log().matches("a tool is left out: it has no name").count(),
            2,
            "{}",
            client.server.log()
        );
    }
}

/// The call ends at once, or gets what can be read of its answer.
#[test]
fn an_answer_that_cannot_be_read_ends_its_call() {
    let remote = Remote::start("odd-answers");
    for upstream in [misbehaving("odd-answers", "timeout = \"1day\""), remote.config("/mcp")] {
        for events in [json!(null), json!(1)] {
            let mut client = until_found(Client::of(&upstream));
            for (kind, said) in [
                ("surrogate", "an answer that cannot be read: "),
                ("nan", "an answer that cannot be read: "),
                ("shape", "an answer that cannot be read: "),
                ("error-text", "refused the request: boom"),
                ("latin", "caf"),
                ("error-null", "fine"),
                ("several-lines", "fine"),
            ] {
                // Events are text, which the HTTP library checks.
                if kind == "latin" && events == json!(1) {
                    continue;
                }
                let answered = client.call("odd__run", json!({"path": kind, "n": events}));
                assert!(answered.text().contains(said), "{kind}: {}", answered.result());
            }
            let log = client.server.log();
            assert!(log.contains("a message of the server cannot be read") && log.contains("\\ud83d"), "{log}");
        }
    }
}

/// Nobody waits for the other request.
#[test]
fn an_answer_to_another_request_ends_the_call() {
    let remote = Remote::start("other-id");
    let mut client = until_found(Client::of(&(remote.config("/mcp") + "timeout = \"1day\"\n")));
    let answered = client.call("odd__run", json!({}));
    assert_eq!(answered.code(), "upstream-failed", "{}", answered.result());
    assert!(answered.text().contains("it says that it answers the request"), "{}", answered.text());
    let refusing = Remote::start("refuses");
    let mut client = until_found(Client::of(&refusing.config("/mcp")));
    let answered = client.call("odd__run", json!({}));
    assert!(answered.text().contains("answered with HTTP 503"), "{}", answered.text());
}

#[test]
fn a_server_that_knows_no_discovery_and_does_not_say_so_is_initialized() {
    let remote = Remote::start("empty-discover");
    for upstream in [misbehaving("empty-discover", ""), remote.config("/mcp")] {
        let mut client = until_found(Client::of(&upstream));
        client.call("odd__run", json!({})).good();
    }
}
