//! Changes to the configuration file while the server runs: grants and revocations, by command and by hand.

use crate::reload::{edition, replace};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use suite::{Called, Client, Era, Home, PATIENCE, Server, agent, eventually, plugin, plugin_from, portcullis};

const READ: &str = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "read" }]"#;

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("portcullis.toml")).unwrap()
}

/// Replaces the configuration file as an editor does.
fn rewrite(home: &Home, text: &str) {
    replace(&home.path().join("portcullis.toml"), text.as_bytes());
}

/// Repeats the call until its outcome is as expected.
fn until(client: &mut Client, tool: &str, path: &str, right: impl Fn(&Called) -> bool) {
    let done = eventually(PATIENCE, || right(&client.run(tool, json!({"path": path}))).then_some(()));
    assert!(done.is_some(), "{tool} never came out as it should\n{}", client.server.log());
}

fn denied(called: &Called) -> bool {
    called.text().contains("denied: ")
}

#[test]
fn a_running_server_refuses_a_revoked_grant_at_once() {
    let grant = r#"agent-tools = ["echo.*"]"#;
    let config = plugin("relay", &format!("grants.{grant}")) + &agent("echo", "echo", "") + &plugin("keeper", "");
    let mut client = Client::of(&config);
    client.run("relay", json!({"path": "echo.run"})).good();
    let revoked = portcullis(&client.server.home, &["revoke", "relay", "agent-tools", "--yes"]);
    assert!(revoked.good().contains("reloads by itself"), "{revoked:?}");
    until(&mut client, "relay", "echo.run", denied);
    let log = client.server.wait_for_log("reloaded: new calls use the current grants");
    assert!(log.contains("plugins.relay") && log.contains("agent.echo"), "{log}");
    portcullis(&client.server.home, &["grant", "relay", grant, "--yes"]).good();
    until(&mut client, "relay", "echo.run", |called| !denied(called));
    client.run("relay", json!({"path": "echo.run"})).good();
}

#[test]
fn a_running_call_keeps_the_grants_it_started_with() {
    let home = Home::new();
    let path = home.write("edition.wasm", edition("AAAA"));
    let mut client = Client::new(Server::start_in(home, &plugin_from("edition", &path, READ)), Era::Modern, false);
    let sent = Instant::now();
    let old = client.begin_call("edition__run", json!({"path": "/work/go"}));
    client.server.wait_for_log("waiting for /work/go");
    portcullis(&client.server.home, &["revoke", "edition", "filesystem", "--yes"]).good();
    client.server.wait_for_log("reloaded");
    assert!(!client.is_answered(old));
    // The running call keeps its grant; a new call would not find the file.
    std::fs::write(client.server.home.work().join("go"), "").unwrap();
    assert_eq!(Called(client.wait(old, sent)).good(), "edition=A");
    let shown = portcullis(&client.server.home, &["policy", "test", "edition", "filesystem read /work/go"]);
    assert_eq!(shown.status, Some(1), "{shown:?}");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
}

#[test]
fn plugins_are_added_removed_and_changed_with_the_file() {
    let mut client = Client::of(&plugin("keeper", ""));
    let names = |client: &mut Client| -> Vec<String> {
        client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let more = config(&client.server.home) + &plugin("relay", "limits.fuel = 1_000_000\n");
    rewrite(&client.server.home, &more);
    eventually(PATIENCE, || (names(&mut client).len() == 2).then_some(())).unwrap();
    // With too little fuel, the error says so.
    rewrite(&client.server.home, &more.replace("1_000_000", "1_000"));
    until(&mut client, "relay", "echo.run", |called| called.text().contains("fuel"));
    rewrite(&client.server.home, &plugin("relay", ""));
    eventually(PATIENCE, || (names(&mut client) == ["relay__run"]).then_some(())).unwrap();
}

#[test]
fn an_invalid_file_changes_nothing_and_is_reported() {
    let mut client = Client::of(&(plugin("relay", r#"grants.agent-tools = ["echo.*"]"#) + &agent("echo", "echo", "")));
    let good = config(&client.server.home);
    client.run("relay", json!({"path": "echo.run"})).good();
    for (wrong, why) in [
        (good.replace("agent-tools", "agent-tolls"), "unknown field `agent-tolls`"),
        ("[plugins".to_owned(), "TOML parse error"),
        (good.replace("\"echo.*\"", "\"*\""), "no `.` between"),
    ] {
        rewrite(&client.server.home, &wrong);
        client.server.wait_for_log(why);
        client.server.wait_for_log("nothing is reloaded until this is fixed");
        client.run("relay", json!({"path": "echo.run"})).good();
    }
    rewrite(&client.server.home, &good.replace("\"echo.*\"", ""));
    until(&mut client, "relay", "echo.run", denied);
}

#[test]
fn changes_that_need_a_restart_are_reported() {
    let home = Home::new();
    let path = home.write("edition.wasm", edition("AAAA"));
    let config = plugin_from("edition", &path, "") + &plugin("keeper", "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    let said = |client: &Client, words: &str| assert!(!client.server.wait_for_log(words).is_empty());
    client.server.wait_for_log("confined: landlock ABI");
    let text = std::fs::read_to_string(client.server.home.path().join("portcullis.toml")).unwrap();
    rewrite(&client.server.home, &format!("[server]\nmax-sessions = 7\n{text}"));
    said(&client, "`server.max-sessions` has changed in ");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    let outside = tempfile::tempdir().unwrap();
    let line = |host: &Path| {
        format!("filesystem = [{{ host = {:?}, guest = \"/out\", access = \"read\" }}]", host.display().to_string())
    };
    portcullis(&client.server.home, &["grant", "edition", &line(outside.path()), "--yes"]).good();
    said(&client, "[plugins.edition] cannot use ");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    portcullis(&client.server.home, &["grant", "keeper", "state = {}", "--yes"]).good();
    said(&client, "[plugins.keeper] has no state yet");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
}

/// A revocation takes effect even if the plugin cannot be loaded; a new grant then leaves the old version running.
#[test]
fn a_plugin_that_no_longer_loads_still_loses_revoked_grants() {
    let home = Home::new();
    let path = home.write("edition.wasm", edition("AAAA"));
    let config = plugin_from("edition", &path, READ) + &plugin("keeper", "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    replace(&path, b"no component any more");
    client.server.wait_for_log("the old version stays");
    portcullis(&client.server.home, &["grant", "edition", "publish = true", "--yes"]).good();
    client.server.wait_for_log("its configuration changed but cannot be loaded");
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    portcullis(&client.server.home, &["revoke", "edition", "filesystem", "--yes"]).good();
    client.server.wait_for_log("it is not loaded");
    let names = |client: &mut Client| client.tools().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
    eventually(PATIENCE, || (names(&mut client) == [json!("keeper__run")]).then_some(())).unwrap();
    // Once repaired, the plugin returns with its current grants.
    replace(&path, &edition("BAAA"));
    rewrite(
        &client.server.home,
        &(std::fs::read_to_string(client.server.home.path().join("portcullis.toml")).unwrap() + "\n"),
    );
    eventually(PATIENCE, || (names(&mut client).len() == 2).then_some(())).unwrap();
    assert_eq!(client.run("edition", json!({})).good(), "edition=B");
}

/// Its client would be there.
#[test]
fn a_server_over_stdio_takes_no_configuration_from_stdin() {
    let refused = portcullis(&Home::new(), &["serve", "--config", "/dev/stdin"]);
    assert!(refused.refused().contains("comes from stdin, where the client would be"), "{refused:?}");
}
