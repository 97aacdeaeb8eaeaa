//! Files that a tool is refused: one that takes them for an empty folder misleads nobody.

use crate::hostile::files::OPERATIONS;
use serde_json::{Value, json};
use std::fs;
use suite::home::fingerprint;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, plugin, portcullis};

const GRANT: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

fn texts(result: &Value) -> Vec<&str> {
    result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
}

fn said(client: &mut Client, path: &str) -> Vec<String> {
    let called = client.run("unworried", json!({ "path": path }));
    assert_eq!(called.result()["isError"], false, "{}", called.result());
    texts(called.result()).into_iter().map(str::to_owned).collect()
}

#[test]
fn an_answer_names_the_folders_that_are_not_granted() {
    for era in [Era::Modern, Era::Legacy] {
        let mut client = Client::new(Server::start_in(Home::new(), &plugin("unworried", "")), era, false);
        assert_eq!(
            said(&mut client, "/calendars/2026"),
            [
                "files: 0",
                "(The tool was refused files, and may have answered without them: `/calendars/2026` is outside the granted directories. Ask the user, who alone can allow it)"
            ]
        );
        client.server.wait_for_log(
            r#"To allow it: portcullis grant unworried 'filesystem = [{ host = "<directory>", guest = "/calendars", access = "read" }]'"#,
        );
        let journal = client.server.home.path().join("state/audit/audit.jsonl");
        let is_recorded = || fs::read_to_string(&journal).ok()?.contains(r#""target":"/calendars/2026""#).then_some(());
        eventually(PATIENCE, is_recorded).expect("the denial has its path");
    }
}

#[test]
fn what_is_granted_and_what_libraries_look_for_is_not_named() {
    let mut client = Client::of(&plugin("unworried", GRANT));
    assert_eq!(said(&mut client, "roots"), ["/work Ok(1), / Ok(0)"]);
    let inside = said(&mut client, "/work");
    assert!(inside.len() == 1 && inside[0] != "files: 0", "{inside:?}");
    for quiet in ["/work/missing", "/etc/localtime", "/usr/share/zoneinfo/Europe"] {
        assert_eq!(said(&mut client, quiet), ["files: 0"], "{quiet}");
    }
    // Whether there is a folder for temporary files, and nothing more of it.
    assert_eq!(said(&mut client, "look /tmp"), ["there: false"]);
    for (path, named) in [
        ("/calendars", "`/calendars` is outside the granted"),
        ("/", "`/` is outside the granted"),
        ("relative", "`/relative` is outside the granted"),
        ("/work/../secret", "`/secret` is outside the granted"),
        ("/work/folder-link", "`folder-link` leads outside the granted"),
        ("/.ssh/id_rsa", "`/.ssh/id_rsa` is outside the granted"),
        ("look /tmp/x", "`/tmp/x` is outside the granted"),
        ("/tmp", "`/tmp` is outside the granted"),
        ("/usr/share/x", "`/usr/share/x` is outside the granted"),
        ("/etc/localtime/../../calendars", "`/calendars` is outside the granted"),
    ] {
        let answer = said(&mut client, path);
        assert!(answer.len() == 2 && answer[1].contains(named), "{path}: {answer:?}");
    }
    for path in ["/calendars", "/usr/share/zoneinfo", "/.settings", "/python/x", "/tmp"] {
        let made = said(&mut client, &format!("make {path}"));
        assert!(made[0] == "made: false" && made[1].contains(&format!("`{path}` is outside")), "{made:?}");
    }
}

#[test]
fn a_call_at_the_terminal_names_the_grant() {
    let home = Home::new();
    home.write("portcullis.toml", plugin("unworried", ""));
    let called = portcullis(&home, &["call", "unworried", "run", "path=/calendars"]);
    assert_eq!(called.good().trim(), "files: 0", "its answer is as it gave it");
    for words in [
        "note: the tool was refused files, and may have answered without them: filesystem `/calendars`",
        "portcullis grant unworried",
    ] {
        assert!(called.stderr.contains(words), "{words}: {called:?}");
    }
}

/// In the directory `/` that a guest has without a grant, whose descriptor it uses without libc.
#[test]
fn nothing_can_be_done_where_nothing_is_granted() {
    let mut client = Client::of(&(plugin("files", "") + &plugin("echo", "")));
    let files = |client: &Client| fingerprint(&client.server.home.work()) + &fingerprint(&client.server.home.outside());
    let before = files(&client);
    for operation in OPERATIONS {
        let told = json!({"operation": operation, "paths": [".", "..", "x", "../x", "/etc/passwd", "etc/localtime", "x/../.."]});
        let answer = client.run("files", json!({"path": told.to_string()})).text();
        let came: Vec<Value> = serde_json::from_str(answer.lines().next().unwrap()).unwrap();
        assert_eq!(came.len() % 7, 0, "{operation}: {answer}");
        for came in came {
            let refused = ["not-permitted", "no-entry", "invalid", "read-only"];
            assert!(came[1].as_str().is_some_and(|came| refused.contains(&came)), "{operation}: {came}");
        }
    }
    client.check_alive();
    assert_eq!(files(&client), before);
}
