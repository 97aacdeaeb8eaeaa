//! The audit log: each decision is recorded once, and a changed record is found.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use suite::cli::run;
use suite::client::modern_meta;
use suite::http::{Response, request};
use suite::{Client, Era, Home, Server, agent, at_terminal, paths, plugin, portcullis};

fn file(home: &Home) -> PathBuf {
    home.path().join("state/audit/audit.jsonl")
}

fn records(home: &Home) -> Vec<Value> {
    let text = fs::read_to_string(file(home)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verify(home: &Home) -> suite::Ran {
    portcullis(home, &["audit", "verify"])
}

fn config() -> String {
    plugin("relay", r#"grants.agent-tools = ["echo.*"]"#)
        + &agent("echo", "echo", "")
        + &plugin("ungranted-agent-tool", "")
        + &plugin("ask", "grants.client = { form = true }")
}

/// A stopped server whose calls left one audit record of each kind.
fn one_of_each() -> Client {
    let abilities = json!({"elicitation": {"form": {}}});
    let mut client = Client::able(Server::start(&config()), Era::Legacy, false, abilities);
    client.answering = Some(|_, _| json!({"action": "decline"}));
    client.run("relay", json!({"path": "echo.run", "n": 5})).good();
    assert!(client.run("ungranted-agent-tool", json!({})).is_error());
    client.run("ask", json!({"path": "form"}));
    assert!(client.run("relay", json!({"path": 7})).is_error(), "arguments of the wrong type");
    assert!(client.server.end().success());
    client
}

#[test]
fn each_decision_is_recorded_once() {
    let client = one_of_each();
    let home = &client.server.home;
    let records = records(home);
    let mut kinds = BTreeMap::<&str, Vec<&Value>>::new();
    records.iter().for_each(|record| kinds.entry(record["event"].as_str().unwrap()).or_default().push(record));
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), ["denial", "question", "reverse-call", "verdict"]);
    let [denial] = kinds["denial"][..] else { panic!("{:?}", kinds["denial"]) };
    assert_eq!(
        (&denial["capability"], &denial["target"], &denial["reason"], &denial["plugin"]),
        (&json!("agent-tools"), &json!("notes.add"), &json!("is not granted"), &json!("plugins.ungranted-agent-tool"))
    );
    let [question] = kinds["question"][..] else { panic!("{:?}", kinds["question"]) };
    assert_eq!((&question["kind"], &question["outcome"]), (&json!("form"), &json!("decline")));
    let [reverse] = kinds["reverse-call"][..] else { panic!("{:?}", kinds["reverse-call"]) };
    assert_eq!(
        (&reverse["tool"], &reverse["lane"], &reverse["outcome"]),
        (&json!("echo.run"), &json!("local"), &json!("ok"))
    );
    let verdicts: Vec<_> = kinds["verdict"].iter().map(|it| (&it["plugin"], &it["outcome"])).collect();
    assert_eq!(verdicts.len(), 5, "{verdicts:?}");
    let (nested, outer, invalid) = (kinds["verdict"][0], kinds["verdict"][1], kinds["verdict"][4]);
    assert_eq!((&nested["plugin"], &nested["outcome"]), (&json!("agent.echo"), &json!("ok")));
    assert_eq!(nested["parent"], outer["call"], "a nested call names the one that made it");
    assert_eq!(reverse["call"], outer["call"]);
    assert_eq!(invalid["outcome"], "invalid-arguments", "a call that never began has a verdict too");
    for record in kinds["verdict"].iter().take(4) {
        assert!(record["wallMicros"].as_u64().unwrap() > 0 && record["fuel"].as_u64().unwrap() > 0, "{record}");
        assert_eq!(record["principal"], "local");
        assert!(record["digest"].as_str().unwrap().starts_with("sha256:"));
        assert!(record["arguments"].as_str().unwrap().starts_with("sha256:"), "a digest, not what was said");
    }
    assert!(!fs::read_to_string(file(home)).unwrap().contains("argumentsText"));
    let said = verify(home).good().to_owned();
    assert!(said.contains(&format!("whole: records 1 to {} in 1 file", records.len())), "{said}");
}

/// A description, a change to the lines of a journal, and the message that `verify` must print.
type Tampering = (&'static str, fn(&mut Vec<String>), &'static str);

const TAMPERING: &[Tampering] = &[
    ("a value", |lines| lines[0] = lines[0].replacen("\"ok\"", "\"no\"", 1), "audit.jsonl:1: changed"),
    ("a number", |lines| lines[3] = lines[3].replacen("\"seq\":4", "\"seq\":5", 1), "audit.jsonl:4: changed"),
    ("a space", |lines| lines[1].push(' '), "audit.jsonl:2: changed"),
    ("an empty line", |lines| lines.insert(1, String::new()), "audit.jsonl:2: changed"),
    ("one removed", |lines| drop(lines.remove(2)), "audit.jsonl:3: missing: the records 3 to 3"),
    ("the first two removed", |lines| drop(lines.drain(..2)), "missing: the records 1 to 2"),
    ("two in another order", |lines| lines.swap(1, 2), "audit.jsonl:2: reordered"),
    ("one twice", |lines| lines.insert(3, lines[1].clone()), "audit.jsonl:4: reordered"),
    ("the end cut off", |lines| lines.truncate(lines.len() - 2), "cut off"),
    ("all but one cut off", |lines| lines.truncate(1), "cut off"),
];

#[test]
fn changed_records_are_found_and_named() {
    let client = one_of_each();
    let home = &client.server.home;
    let whole = fs::read_to_string(file(home)).unwrap();
    let mut found = 0;
    for (what, tamper, words) in TAMPERING {
        let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
        tamper(&mut lines);
        fs::write(file(home), lines.join("\n") + "\n").unwrap();
        let ran = verify(home);
        assert!(ran.refused().contains(words), "{what}: {}", ran.stderr);
        found += 1;
    }

    fs::write(file(home), &whole).unwrap();
    let said = verify(home).good().to_owned();
    let head = said.lines().find_map(|line| line.strip_prefix("head: ")).unwrap();
    assert!(portcullis(home, &["audit", "verify", "--head", head]).good().contains("whole"));
    let other = head.replace(':', ":0").chars().take(head.len()).collect::<String>();
    assert!(portcullis(home, &["audit", "verify", "--head", &other]).refused().contains("not the one that was noted"));
    println!("hostile: audit: {} of {} changes of a journal found and named", found + 1, TAMPERING.len() + 1);
}

#[test]
fn records_are_shown_and_exported() {
    let client = one_of_each();
    let home = &client.server.home;
    let said = portcullis(home, &["audit", "tail", "-n", "2", "--plugin", "ungranted-agent-tool"]).good().to_owned();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.contains("denial plugins.ungranted-agent-tool local capability=agent-tools target=notes.add"),
        "{said}"
    );
    assert!(said.contains("outcome=denied"), "{said}");
    let all = portcullis(home, &["audit", "export"]).good().to_owned();
    // More than a pipe holds, and a reader that has gone.
    let mut gone = Command::new("bash");
    gone.args(["-c", "for n in {1..9}; do \"$0\" audit export; \"$0\" audit tail; done | true; exit ${PIPESTATUS[0]}"])
        .arg(paths::binary());
    gone.current_dir(home.path()).env("PORTCULLIS_STATE", home.path().join("state"));
    let gone = run(gone);
    assert!(gone.status == Some(0) && gone.stderr.is_empty(), "{gone:?}");
    assert_eq!(all, fs::read_to_string(file(home)).unwrap());
    let table = portcullis(home, &["audit", "export", "--format", "csv", "--since", "1h"]).good().to_owned();
    assert_eq!(table.lines().count(), all.lines().count() + 1);
    assert!(table.starts_with("seq,time,event,principal,"), "{table}");
    assert!(portcullis(home, &["audit", "export", "--until", "1h"]).good().is_empty());
}

#[test]
fn a_person_is_shown_what_was_denied_and_what_allows_it() {
    let client = one_of_each();
    let home = &client.server.home;
    let unseen = portcullis(home, &["denials"]);
    assert!(unseen.refused().contains("at a terminal only"), "{unseen:?}");
    let shown = at_terminal(home, "-", &["denials"]).good().to_owned();
    assert!(shown.contains("[plugins.ungranted-agent-tool] agent-tools `notes.add` is not granted"), "{shown}");
    let remedy = "portcullis grant ungranted-agent-tool 'agent-tools = [\"notes.add\"]'";
    assert!(shown.contains(remedy), "{shown}");
    portcullis(home, &["grant", "ungranted-agent-tool", "agent-tools = [\"notes.add\"]", "--yes"]).good();
    let shown = at_terminal(home, "-", &["denials", "--plugin", "ungranted-agent-tool"]).good().to_owned();
    assert!(shown.contains("    It is granted now"), "{shown}");
    assert!(at_terminal(home, "-", &["denials", "--plugin", "echo"]).good().contains("Nothing was denied."));
}

#[test]
fn two_processes_write_one_audit_chain() {
    let home = Home::new();
    let config = agent("echo", "echo", "") + &plugin("relay", r#"grants.agent-tools = ["echo.*"]"#);
    let mut client = Client::of_server(Server::start_in(home, &config));
    for n in 0..5 {
        client.run("relay", json!({"path": "echo.run", "n": n})).good();
        portcullis(&client.server.home, &["call", "echo", "run"]).good();
    }
    assert!(client.server.end().success());
    verify(&client.server.home).good();
    // Each round records a reverse call and three decisions.
    assert_eq!(records(&client.server.home).len(), 20);
}

#[test]
fn a_killed_host_leaves_a_valid_audit_chain() {
    let (mut server, _) = Server::start_http(&(plugin("echo", "") + &plugin("relay", "")));
    for round in 0..3 {
        for _ in 0..4 {
            portcullis(&server.home, &["call", "relay", "run", r#"{"path": "echo.run"}"#]);
        }
        server.kill();
        verify(&server.home).good();
        // A machine crash may leave a truncated record.
        let mut torn = fs::read(file(&server.home)).unwrap();
        torn.extend(b"{\"seq\":");
        fs::write(file(&server.home), torn).unwrap();
        assert!(verify(&server.home).good().contains("cut off"));
        server.restart();
        portcullis(&server.home, &["call", "echo", "run"]).good();
        assert!(!verify(&server.home).good().contains("cut off"));
        let repaired = records(&server.home).iter().filter(|record| record["what"] == "repaired").count();
        assert_eq!(repaired, round + 1);
    }
}

#[test]
fn arguments_are_recorded_only_where_configured() {
    let full = format!("[server.audit]\narguments = \"full\"\n{}", plugin("echo", ""));
    let mut client = Client::of(&full);
    client.run("echo", json!({"n": 7})).good();
    assert!(client.server.end().success());
    assert_eq!(records(&client.server.home)[0]["argumentsText"], r#"{"n":7}"#);
    let mut client = Client::of(&format!("[server.audit]\noff = true\n{}", plugin("echo", "")));
    client.run("echo", json!({})).good();
    assert!(client.server.end().success());
    assert!(!file(&client.server.home).exists());
}

/// A call over HTTP, with an API key or without one.
fn call_as(address: SocketAddr, key: Option<&str>, tool: &str) -> Response {
    let params = json!({"name": tool, "arguments": {}, "_meta": modern_meta(false)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let bearer = key.map(|key| format!("Bearer {key}"));
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    request(address, "POST", &headers, &body.to_string())
}

#[test]
fn nobody_rotates_the_denial_of_another_away() {
    let home = Home::new();
    let [alice, bob] = home.keys(["alice", "bob"]);
    let small = "[server.auth]\nkeys = \"keys.toml\"\n[server.audit]\nmax-size = \"16 KiB\"\nkeep = 1\n";
    let config = small.to_owned() + &plugin("ungranted-agent-tool", "") + &plugin("echo", "");
    let (mut server, address) = Server::start_http_in(home, &config);
    assert_eq!(call_as(address, Some(&alice), "ungranted-agent-tool__run").status, 200);
    for _ in 0..150 {
        assert_eq!(call_as(address, Some(&bob), "ungranted-agent-tool__run").status, 200);
        assert_eq!(call_as(address, Some(&bob), "echo__run").status, 200);
        assert_eq!(call_as(address, None, "echo__run").status, 401);
    }
    server.terminate();
    assert!(server.ended().success());
    let records = |options: &[&str]| -> Vec<Value> {
        let exported = portcullis(&server.home, &[&["audit", "export"], options].concat()).good().to_owned();
        exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let of_alice = records(&["--principal", "key:alice"]);
    let kinds: Vec<_> = of_alice.iter().map(|record| record["event"].as_str().unwrap()).collect();
    println!("hostile: rotated: {} of 2 records of another user are kept beside 450 requests", kinds.len());
    assert_eq!(kinds, ["denial", "verdict"]);
    let all = records(&[]);
    let known =
        |record: &Value| record["event"] == "journal" || record["principal"].as_str().unwrap().starts_with("key:");
    assert!(all.iter().all(known), "requests of nobody leave no record");
    let removed: Vec<_> = all.iter().filter(|record| record["what"] == "removed").collect();
    let lost = removed.iter().map(|record| record["calls"].as_u64().unwrap() + record["decisions"].as_u64().unwrap());
    let (lost, last) = (lost.sum::<u64>(), all.last().unwrap()["seq"].as_u64().unwrap());
    assert!(
        lost > 0 && removed.iter().all(|record| record["mostOf"] == "key:bob" || record["calls"] == 0),
        "{removed:?}"
    );
    assert!(lost + all.len() as u64 <= last, "{lost} were removed, {} of {last} are there", all.len());
    assert!(verify(&server.home).good().contains("in the archive"));
}
