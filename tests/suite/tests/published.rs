//! Publishing and events, as the guest sees them.

use serde_json::{Value, json};
use suite::{Client, Home, PATIENCE, Server, eventually, plugin, portcullis};

/// The outcome that the guest reports for one attempt.
fn outcome(text: &str, what: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{what}: ")));
    line.unwrap_or_else(|| panic!("nothing about {what} in\n{text}")).to_owned()
}

#[test]
fn publishing_needs_a_grant() {
    let mut client = Client::of(&plugin("publish-all", ""));
    let text = client.run("publish-all", json!({})).good();
    for what in ["put", "append", "escape", "large", "prompt", "nothing", "no-prompt"] {
        assert!(outcome(&text, what).contains("Denied"), "{text}");
    }
    assert!(!text.contains("portcullis grant"), "{text}");
    client.server.wait_for_log("portcullis grant publish-all 'publish = true'");
}

#[test]
fn published_items_are_bounded() {
    let mut client = Client::of(&plugin("publish-all", "grants.publish = true"));
    let text = client.run("publish-all", json!({"n": 300})).good();
    assert_eq!(outcome(&text, "put"), r#"Ok("portcullis://published/publish-all/report/today.txt")"#);
    assert_eq!(outcome(&text, "append"), outcome(&text, "put"));
    assert_eq!(outcome(&text, "prompt"), "Ok(())");
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
        let outcome = outcome(&text, what);
        assert!(outcome.starts_with("Err") && outcome.contains(why), "{what}: {outcome}");
    }
}

#[test]
fn events_are_granted_by_name_deduplicated_and_rate_limited() {
    let mut client = Client::of(&plugin("event-flood", r#"grants.events = ["policy.*"]"#));
    let text = client.run("event-flood", json!({"n": 1_000})).good();
    assert_eq!((outcome(&text, "first"), outcome(&text, "again")), ("Ok(true)".into(), "Ok(false)".into()));
    assert_eq!(outcome(&text, "other-name"), "Ok(true)");
    assert!(outcome(&text, "ungranted").contains("No grant can change that"), "{text}");
    client.server.wait_for_log("`trip.booked` is not requested by the plugin");
    assert!(outcome(&text, "no-name").contains("at least two words") && outcome(&text, "no-json").contains("not JSON"));
    assert!(outcome(&text, "large").contains("16384"), "{text}");
    let refused = text.lines().last().unwrap();
    assert!(refused.contains("Exhausted") && refused.contains("Stored") && refused.contains("60"), "{refused}");
}

#[test]
fn published_items_are_listed_read_and_announced() {
    let mut client = Client::of(&(plugin("publish-all", "grants.publish = true") + &plugin("provider", "")));
    let uri = "portcullis://published/publish-all/report/today.txt";
    let wanted = json!({"resourcesListChanged": true, "promptsListChanged": true, "resourceSubscriptions": [uri]});
    client.begin("subscriptions/listen", json!({"notifications": wanted}));
    assert_eq!(client.notified()["method"], "notifications/subscriptions/acknowledged");
    let unknown = client.request("resources/read", json!({"uri": uri}));
    assert_eq!((unknown.error_code(), &unknown.message["error"]["data"]["uri"]), (-32602, &json!(uri)));

    let id = client.begin_call("publish-all__run", json!({}));
    let mut told: Vec<_> = (0..3).map(|_| client.notified()["method"].as_str().unwrap().to_owned()).collect();
    told.sort();
    let methods = ["prompts/list_changed", "resources/list_changed", "resources/updated"];
    assert_eq!(told, methods.map(|method| format!("notifications/{method}")));
    client.wait(id, std::time::Instant::now());

    let listed = client.request("resources/list", json!({}));
    let resources = listed.result()["resources"].as_array().unwrap();
    let entry = resources.iter().find(|entry| entry["uri"] == uri).unwrap();
    assert_eq!(entry["_meta"]["dev.portcullis/source"]["plugin"], "publish-all", "{entry}");
    assert!(resources.iter().is_sorted_by_key(|entry| entry["uri"].as_str()), "{listed:?}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read.result()["contents"][0]["text"], "one two", "{}", read.message);
    assert_eq!(read.result()["_meta"]["dev.portcullis/source"]["plugin"], "publish-all");

    let name = "publish-all__plan";
    let prompts = client.request("prompts/list", json!({}));
    assert!(prompts.result()["prompts"].as_array().unwrap().iter().any(|prompt| prompt["name"] == name));
    let get = client.request("prompts/get", json!({"name": name, "arguments": {"where": "Oslo"}}));
    assert_eq!(get.result()["messages"][0]["content"]["text"], "Go to Oslo", "{}", get.message);
    assert_eq!(client.request("prompts/get", json!({"name": name})).error_code(), -32602);
    let reference = json!({"type": "ref/prompt", "name": name});
    let complete = json!({"ref": reference, "argument": {"name": "where", "value": "O"}});
    assert_eq!(client.request("completion/complete", complete).result()["completion"]["values"], json!([]));
    let inbox = client.request("resources/read", json!({"uri": "portcullis://inbox"}));
    assert_eq!(inbox.result()["contents"][0]["mimeType"], "application/json", "{}", inbox.message);
}

const REPORT: &str = "portcullis://published/publish-all/report/today.txt";

fn keeping() -> String {
    plugin("publish-all", "grants.publish = true") + &plugin("event-flood", r#"grants.events = ["policy.*"]"#)
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({ "uri": uri })).result().clone()
}

fn inbox(client: &mut Client, uri: &str) -> Value {
    serde_json::from_str(read(client, uri)["contents"][0]["text"].as_str().unwrap()).unwrap()
}

/// Ends it in order, or kills it, and starts it again.
fn again(mut client: Client, kill: bool) -> Client {
    if kill {
        // The inbox is stored last of what has changed by then.
        let is_stored =
            || portcullis(&client.server.home, &["storage", "check"]).good().contains("  records: 3\n").then_some(());
        eventually(PATIENCE, is_stored).unwrap();
    } else {
        assert!(client.server.end().success(), "{}", client.server.log());
    }
    client.server.restart_stdio();
    Client::of_server(client.server)
}

#[test]
fn what_is_published_outlives_the_host() {
    for kill in [false, true] {
        let mut client = Client::of(&keeping());
        client.run("publish-all", json!({})).good();
        let first = client.run("event-flood", json!({})).good();
        assert_eq!(outcome(&first, "first"), "Ok(true)");
        let (report, listed) = (read(&mut client, REPORT), client.request("prompts/list", json!({})).result().clone());
        let event = inbox(&mut client, "portcullis://inbox")["events"][0].clone();
        assert_eq!(report["contents"][0]["text"], "one two");

        let mut client = again(client, kill);
        assert_eq!(read(&mut client, REPORT), report);
        assert_eq!(client.request("prompts/list", json!({})).result()["prompts"], listed["prompts"]);
        assert_eq!(inbox(&mut client, "portcullis://inbox")["events"][0], event);
        let after = format!("portcullis://inbox?after={}", event["id"].as_str().unwrap());
        let unread = inbox(&mut client, &after);
        assert!(unread["events"].as_array().unwrap().iter().all(|other| other["id"] != event["id"]), "{unread}");
        let more = client.run("event-flood", json!({})).good();
        assert_eq!((outcome(&more, "first"), outcome(&more, "again")), ("Ok(false)".into(), "Ok(false)".into()));
        client.run("publish-all", json!({})).good();
        assert_eq!(read(&mut client, REPORT)["contents"][0]["text"], "one two");
    }
}

/// Neither knows of the other's event when its plugin emits it.
#[test]
fn two_hosts_over_one_folder_have_each_event_once() {
    let state = tempfile::tempdir().unwrap();
    let start = || {
        let server = Server::spawn(Home::new(), &keeping(), &[], |command| {
            command.env("PORTCULLIS_STATE", state.path());
        });
        server.wait_until_loaded();
        Client::of_server(server)
    };
    let mut hosts = [start(), start()];
    let events = |client: &mut Client| inbox(client, "portcullis://inbox")["events"].as_array().unwrap().clone();
    // Once it answers, a host has read what is stored.
    hosts.iter_mut().for_each(|host| assert!(events(host).is_empty()));
    for host in &mut hosts {
        let told = host.run("event-flood", json!({})).good();
        assert_eq!(outcome(&told, "first"), "Ok(true)");
    }
    let [mut one, mut other] = hosts;
    // Each has emitted `first` and `other-name`.
    assert_eq!((events(&mut one).len(), events(&mut other).len()), (2, 2));
    assert!(one.server.end().success() && other.server.end().success());
    let mut third = start();
    let names: Vec<_> = events(&mut third).iter().map(|event| event["name"].clone()).collect();
    assert_eq!(names, ["policy.effective", "policy.ended"]);
}

#[test]
fn what_a_plugin_has_published_that_is_not_there_is_hidden() {
    let mut client = Client::of(&keeping());
    client.run("publish-all", json!({})).good();
    assert!(client.server.end().success(), "{}", client.server.log());
    let mut others = plugin("event-flood", "");
    for there in [false, true] {
        client.server.home.write("portcullis.toml", &others);
        client.server.restart_stdio();
        client = Client::of_server(client.server);
        let found = client.request("resources/read", json!({"uri": REPORT}));
        assert_eq!(found.message["result"].is_object(), there, "{}", found.message);
        others = keeping();
    }
}

#[test]
fn a_damaged_store_keeps_nobody_from_publishing() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("state")).unwrap();
    home.write("state/durable.db", "this is no database, and never was one".repeat(200));
    let mut client = Client::of_server(Server::start_in(home, &keeping()));
    client.run("publish-all", json!({})).good();
    assert_eq!(read(&mut client, REPORT)["contents"][0]["text"], "one two");
}
