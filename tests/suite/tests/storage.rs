//! What a server keeps can be checked and copied while it runs, and restored.

use serde_json::json;
use std::fs;
use suite::http::{call, request_at};
use suite::{Client, Home, Server, plugin, portcullis};

fn keep(client: &mut Client, path: &str) -> String {
    client.run("keeper", json!({ "path": path })).good()
}

fn config() -> String {
    plugin("keeper", "grants.state = {}")
}

#[test]
fn a_copy_made_while_the_server_runs_can_be_restored() {
    let mut client = Client::of(&config());
    keep(&mut client, "set k before");
    let said = portcullis(&client.server.home, &["storage", "check"]).good().to_owned();
    assert!(said.contains("values.db (values of plugins): sound, format 2"), "{said}");
    assert!(said.contains("  values: 1\n"), "{said}");
    let said = portcullis(&client.server.home, &["storage", "backup", "copy"]).good().to_owned();
    assert!(said.contains("copied values.db (values of plugins): "), "{said}");
    let said = portcullis(&client.server.home, &["storage", "backup", "copy"]).refused().to_owned();
    assert!(said.contains("there is one already; choose another folder"), "{said}");
    keep(&mut client, "set k after");
    assert_eq!(keep(&mut client, "get k"), "after");

    let other = Home::new();
    let state = other.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::copy(client.server.home.path().join("copy/values.db"), state.join("values.db")).unwrap();
    let mut restored = Client::of_server(Server::start_in(other, &config()));
    assert_eq!(keep(&mut restored, "get k"), "before");
    assert_eq!(keep(&mut client, "get k"), "after");
}

/// Plugins find nothing in an empty one that takes its place, and would begin anew.
#[test]
fn with_damaged_values_no_plugin_has_state() {
    let home = Home::new();
    fs::create_dir(home.path().join("state")).unwrap();
    fs::write(home.path().join("state/values.db"), "this is no database, and never was one".repeat(200)).unwrap();
    let (server, address) = Server::start_http_in(home, &(config() + &plugin("echo", "")));
    let mut ready = request_at(address, "GET", "/ready", &[], "");
    assert_eq!(ready.status, 503);
    let ready = ready.message().unwrap();
    assert_eq!(ready["status"], "no-storage");
    assert!(ready["storage"].as_str().unwrap().contains("values.db"), "{ready}");
    for path in ["set k 1", "get k"] {
        let failed = call(address, "keeper__run", json!({ "path": path }), false);
        assert!(failed.text().contains("could not store or load it"), "{path}: {}", failed.text());
    }
    assert!(call(address, "echo__run", json!({"path": "Ada"}), false).good().contains("Ada"));
    let file = server.home.path().join("portcullis.toml").display().to_string();
    let ran = portcullis(&server.home, &["serve", "--strict", "--config", &file]);
    assert!(ran.refused().contains("values.db"), "{ran:?}");
}

#[test]
fn a_damaged_database_is_named() {
    let home = Home::new();
    let said = portcullis(&home, &["storage", "check"]).refused().to_owned();
    assert!(said.contains("nothing was kept yet"), "{said}");
    fs::create_dir(home.path().join("state")).unwrap();
    fs::write(home.path().join("state/durable.db"), "this is no database, and never was one".repeat(200)).unwrap();
    let ran = portcullis(&home, &["storage", "check"]);
    assert!(ran.refused().contains("cannot be used as it is: durable.db"), "{ran:?}");
    assert!(ran.stdout.contains("file is not a database"), "{ran:?}");
    assert!(ran.stdout.contains("values.db (values of plugins): nothing kept"), "{ran:?}");
    let said = portcullis(&home, &["storage", "backup", "copy"]).refused().to_owned();
    assert!(said.contains("durable.db cannot be read: file is not a database"), "{said}");
}
