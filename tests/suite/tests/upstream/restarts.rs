//! A server that is being started again: its tools say so, and a call that never left can be made again.

use super::{kill, names, programs};
use serde_json::{Value, json};
use std::fs;
use suite::{Called, Client, Home, PATIENCE, Server, eventually, paths};

const KEY: &str = "dev.portcullis/idempotencyKey";

fn call(client: &mut Client, key: &str) -> Called {
    let params = json!({"name": "late__run", "arguments": {}, "_meta": {KEY: key}});
    Called(client.request("tools/call", params))
}

#[test]
fn while_a_server_is_started_again_its_tools_say_so() {
    let home = Home::new();
    let script = paths::root().join("tests/suite/tests/upstream/server.py");
    let late = home.path().join("late.py");
    let (python, file) = (paths::python().display().to_string(), late.display().to_string());
    let config = format!("[upstream.late]\ncommand = [{python:?}, {file:?}]\n\n");
    let mut client = Client::of_server(Server::start_in(home, &config));
    client.server.wait_for_log("not connected");
    // Not known yet, and not unknown either.
    let refused = client.request("tools/call", json!({"name": "late__run", "arguments": {}}));
    assert!(refused.message["error"]["message"].as_str().is_some_and(says_so), "{}", refused.message);

    fs::copy(&script, &late).unwrap();
    let is_listed = |client: &mut Client| (names(client) == ["late__run"]).then_some(());
    eventually(PATIENCE, || is_listed(&mut client)).expect("it is found");
    call(&mut client, "first").good();

    // It cannot be started again.
    fs::remove_file(&late).unwrap();
    programs(&client.server).into_iter().for_each(kill);
    let gone = eventually(PATIENCE, || {
        let called = client.call("late__run", json!({}));
        (called.is_error() && says_so(&called.text())).then_some(())
    });
    gone.unwrap_or_else(|| panic!("it does not say so\n{}", client.server.log()));
    let refused = call(&mut client, "second");
    assert_eq!(refused.code(), "upstream-failed", "{}", refused.result());
    assert!(says_so(&refused.text()), "{}", refused.text());
    assert_eq!(names(&mut client), ["late__run"], "it stays listed");

    fs::copy(&script, &late).unwrap();
    // The same intended call, which has done nothing so far.
    let called = eventually(PATIENCE, || Some(call(&mut client, "second")).filter(|called| !called.is_error()));
    let said: Value = serde_json::from_str(&called.expect("it comes back").good()).unwrap();
    assert!(said["environment"].is_array(), "{said}");
}

fn says_so(text: &str) -> bool {
    text.contains("the server `late` is not connected at the moment") && text.contains("try again")
}

#[test]
fn resources_and_prompts_of_a_lost_server_stay_listed_and_say_so() {
    let home = Home::new();
    let scripts = paths::root().join("tests/suite/tests/upstream");
    let late = home.path().join("late.py");
    let (python, file) = (paths::python().display().to_string(), late.display().to_string());
    let config = format!("[upstream.late]\ncommand = [{python:?}, {file:?}, \"items\"]\n\n");
    let items = home.path().join("items.py");
    let mut client = Client::of_server(Server::start_in(home, &config));
    client.server.wait_for_log("not connected");
    let read = |client: &mut Client, uri: &str| client.request("resources/read", json!({"uri": uri})).message;
    let named = "portcullis://upstream/late/notes://1";
    assert!(read(&mut client, "notes://1").to_string().contains("not connected at the moment"));
    assert!(!read(&mut client, named).to_string().contains("read notes"));

    fs::copy(scripts.join("items.py"), items).unwrap();
    fs::copy(scripts.join("server.py"), &late).unwrap();
    let found =
        eventually(PATIENCE, || read(&mut client, "notes://1").to_string().contains("read notes").then_some(()));
    found.expect("it is found");
    fs::remove_file(&late).unwrap();
    programs(&client.server).into_iter().for_each(kill);
    for (method, params) in [
        ("resources/read", json!({"uri": "notes://1"})),
        ("prompts/get", json!({"name": "late__two_words"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "late__greet"}, "argument": {"name": "who", "value": ""}}),
        ),
    ] {
        let gone = eventually(PATIENCE, || {
            let said = client.request(method, params.clone()).message;
            said["error"]["message"].as_str().is_some_and(says_so).then_some(())
        });
        gone.unwrap_or_else(|| panic!("{method} does not say so\n{}", client.server.log()));
    }
    let listed = client.request("resources/list", json!({})).message.to_string();
    assert!(listed.contains("\"notes://1\""), "{listed}");
}
