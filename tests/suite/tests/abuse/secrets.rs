//! Private results that a plugin tries to pass on.

use super::Case;
use super::fixture::{Fixture, decent, declaring, good, tool};
use serde_json::{Value, json};
use std::fs;

/// A script that calls the first tool, then the second.
fn both(first: &str, second: &str) -> Value {
    json!([{"call": {"name": first}}, {"call": {"name": second}}])
}

fn private() -> Value {
    let mut get = tool("tools.get");
    get["private"] = true.into();
    declaring(&[get, tool("tools.put")], json!({}))
}

fn run(fixture: &Fixture, plugin: &str, script: Value, capabilities: &Value, answer: Value) -> String {
    fixture.run(plugin, script, capabilities).through(&answer).0.outcome()
}

fn abuse(fixture: &Fixture, plugin: &str, how: &str) -> String {
    let arguments = json!({"path": format!("{how} tools.get")});
    fixture.call(&format!("{plugin}__run"), arguments, &private()).through(&good()).0.outcome()
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a private tool's result, then a component is called",
        outcome: "ok, denied",
        run: |fixture| run(fixture, "calls", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a result marked private, then a component is called",
        outcome: "ok, denied",
        run: |fixture| {
            let mut marked = good();
            marked["_meta"] = json!({"dev.portcullis/private": true});
            run(fixture, "calls", both("tools.get", "echo.run"), &decent(), marked)
        },
    },
    Case {
        what: "a private tool's failure, then a component is called",
        outcome: "tool-error, denied",
        run: |fixture| {
            let failed = json!({"content": [{"type": "text", "text": "the secret is wrong"}], "isError": true});
            run(fixture, "calls", both("tools.get", "echo.run"), &private(), failed)
        },
    },
    Case {
        what: "the same with the flow granted",
        outcome: "ok, ok",
        run: |fixture| run(fixture, "generous", both("tools.get", "echo.run"), &private(), good()),
    },
    Case {
        what: "a private result, then the same client is called",
        outcome: "ok, ok",
        run: |fixture| run(fixture, "calls", both("tools.get", "tools.put"), &private(), good()),
    },
    Case {
        what: "a private component's result, then another is called",
        outcome: "ok, denied",
        run: |fixture| run(fixture, "calls", both("diary.run", "echo.run"), &decent(), good()),
    },
    Case {
        what: "a private result, then a connected account is used",
        outcome: "ok, denied flows",
        run: |fixture| abuse(fixture, "abuser", "account"),
    },
    Case {
        what: "the same with the flow granted, and nobody connected",
        outcome: "ok, not-connected",
        run: |fixture| abuse(fixture, "sharing", "account"),
    },
    Case {
        what: "a private result, then the host's own model is asked",
        outcome: "ok, denied flows",
        run: |fixture| abuse(fixture, "abuser", "model"),
    },
    Case {
        what: "a private component traps, then another is called",
        outcome: "failed, denied",
        run: |fixture| run(fixture, "calls", both("secretive.run", "echo.run"), &decent(), good()),
    },
    Case {
        what: "a private result, then the user is sent to a page",
        outcome: "ok, denied flows",
        run: |fixture| abuse(fixture, "abuser", "page"),
    },
    Case {
        what: "a private result, then files are changed",
        outcome: "ok, changed []",
        run: |fixture| in_work(fixture, "abuser"),
    },
    Case {
        what: "the same with the flow granted",
        outcome: "ok, changed [write create cut folder rename link remove remove-folder]",
        run: |fixture| in_work(fixture, "sharing"),
    },
    Case {
        what: "a private result is stored, and a later call looks for any trace of it",
        outcome: "ok, kept; nothing",
        run: |fixture| kept(fixture, "abuser"),
    },
    Case {
        what: "the same where calls may know it: they find it and cannot pass it on",
        outcome: "ok, kept; found, denied flows",
        run: |fixture| kept(fixture, "sharing"),
    },
];

fn in_work(fixture: &Fixture, plugin: &str) -> String {
    let said = abuse(fixture, plugin, "files");
    // The folder itself stays: a confined server would not reach another one.
    for entry in fs::read_dir(fixture.server().home.path().join("shelf")).unwrap().map(Result::unwrap) {
        let is_folder = entry.file_type().unwrap().is_dir();
        let removed = if is_folder { fs::remove_dir(entry.path()) } else { fs::remove_file(entry.path()) };
        removed.unwrap_or_else(|error| panic!("{entry:?}: {error}"));
    }
    said
}

fn kept(fixture: &Fixture, plugin: &str) -> String {
    format!("{}; {}", abuse(fixture, plugin, "keep"), abuse(fixture, plugin, "look"))
}
