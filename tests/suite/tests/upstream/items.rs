//! Resources, resource templates, prompts and completions of servers reach clients under the rules of tools.

use super::{Remote, misbehaving, until_found};
use crate::reload;
use serde_json::{Value, json};
use suite::http::request_at;
use suite::{Client, Era, Home, PATIENCE, Server, eventually, plugin};

/// What one server may make the host hold, in bytes.
const MOST_HELD: u64 = 64 << 20;
const ADDRESS: &str = "portcullis://upstream/";

fn server(kind: &str, name: &str, settings: &str) -> String {
    misbehaving(kind, settings).replace("[upstream.odd]", &format!("[upstream.{name}]"))
}

fn keys(client: &mut Client, method: &str, list: &str, key: &str) -> Vec<String> {
    let listed = client.request(method, json!({})).result()[list].as_array().unwrap().clone();
    listed.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

/// The URIs of all resources that are not the host's own.
fn resources(client: &mut Client) -> Vec<String> {
    let mut all = keys(client, "resources/list", "resources", "uri");
    all.retain(|uri| !uri.starts_with("portcullis://") || uri.starts_with(ADDRESS));
    all
}

fn templates(client: &mut Client) -> Vec<String> {
    let mut all = keys(client, "resources/templates/list", "resourceTemplates", "uriTemplate");
    all.retain(|uri| !uri.starts_with("portcullis://") || uri.starts_with(ADDRESS));
    all
}

fn prompts(client: &mut Client) -> Vec<String> {
    keys(client, "prompts/list", "prompts", "name")
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri})).result().clone()
}

fn text(client: &mut Client, uri: &str) -> String {
    read(client, uri)["contents"][0]["text"].as_str().unwrap().to_owned()
}

fn links(client: &mut Client) -> Vec<String> {
    let called = client.call("odd__run", json!({}));
    let content = called.result()["content"].as_array().unwrap().clone();
    content.iter().map(|link| link["uri"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_server_offers_is_listed_and_read() {
    let over_http = Remote::start("items");
    let older = misbehaving("items", "protocol = \"2025-11-25\"");
    for upstream in [misbehaving("items", ""), over_http.config("/mcp"), over_http.config("/events"), older] {
        for era in Era::ALL {
            let mut client = until_found(Client::new(Server::start(&upstream), era, false));
            assert_eq!(resources(&mut client), ["bytes://1", "notes://1"], "{era:?}");
            assert_eq!(templates(&mut client), ["notes://{id}"]);
            assert_eq!(prompts(&mut client), ["odd__greet", "odd__two_words"]);
            let listed = client.request("resources/list", json!({})).result()["resources"].clone();
            let one = listed.as_array().unwrap().iter().find(|one| one["uri"] == "notes://1").unwrap().clone();
            assert_eq!(
                (&one["description"], &one["size"], &one["mimeType"]),
                (&json!("The first."), &json!(7), &json!("text/x-note"))
            );
            assert_eq!((&one["annotations"]["priority"], &one["icons"][0]["theme"]), (&json!(0.5), &json!("dark")));
            assert_eq!(one["_meta"]["vendor.example/card"]["order"], json!([2, 1]));
            assert_eq!(one["_meta"]["dev.portcullis/source"], json!({"upstream": "odd", "uri": "notes://1"}));

            let note = read(&mut client, "notes://1");
            let content = &note["contents"][0];
            assert_eq!(
                (&content["text"], &content["mimeType"]),
                (&json!("read notes://1"), &json!("text/x-note")),
                "{note}"
            );
            assert_eq!(content["_meta"]["vendor.example/card"]["order"], json!([2, 1]));
            assert!(!note.to_string().contains("forged"), "{note}");
            assert_eq!(note["_meta"]["vendor.example/card"]["order"], json!([2, 1]));
            // What came with it has an address, too.
            assert_eq!(note["contents"][1]["uri"], "notes://attached");
            assert_eq!(note["contents"][2]["uri"], "portcullis://upstream/odd/x-linked:attached");
            let bytes = read(&mut client, "bytes://1")["contents"][0].clone();
            assert!(
                bytes.get("mimeType").is_none() && bytes["blob"].as_str().unwrap().starts_with("AAECAwQF"),
                "{bytes}"
            );
            // By its template, and by the address that names the server.
            assert_eq!(text(&mut client, "notes://77"), "read notes://77");
            let named = read(&mut client, "portcullis://upstream/odd/notes://1");
            assert_eq!(named["contents"][0]["uri"], "portcullis://upstream/odd/notes://1");

            let missing = client.request("resources/read", json!({"uri": "notes://0"}));
            assert_eq!(
                missing.error_code(),
                // An older server says it in another way than one of 2026-07-28, and this one has only that way.
                if era == Era::Modern || upstream.contains("2025") { -32602 } else { -32002 }
            );
            let broken = client.request("resources/read", json!({"uri": "notes://broken"}));
            assert_eq!(broken.error_code(), -32603);
            assert!(broken.message["error"]["message"].as_str().unwrap().contains("the disk is full"));
            let nobodys = client.request("resources/read", json!({"uri": "nobody:1"}));
            assert_eq!(nobodys.error_code(), if era == Era::Modern { -32602 } else { -32002 });
        }
    }
}

#[test]
fn a_link_leads_to_the_server_that_gave_it() {
    let mut client = until_found(Client::of(&misbehaving("items", "")));
    let links = links(&mut client);
    let linked = format!("{ADDRESS}odd/x-linked:7");
    let inbox = format!("{ADDRESS}odd/portcullis://inbox");
    assert_eq!(links, ["notes://9", &linked, "https://vendor.example/page", &inbox]);
    for (uri, own) in [("notes://9", "notes://9"), (&linked, "x-linked:7"), (&inbox, "portcullis://inbox")] {
        assert_eq!(text(&mut client, uri), format!("read {own}"));
    }
    let got = client.request("prompts/get", json!({"name": "odd__greet", "arguments": {"who": "you"}}));
    assert_eq!(got.result()["messages"][1]["content"]["uri"], linked);
    // To the server it is its own again, and what is another's stays.
    let called =
        client.call("odd__run", json!({"path": "echo", "uris": [linked, "portcullis://upstream/even/x:1", "x:1"]}));
    assert_eq!(called.good(), "[\"x-linked:7\", \"portcullis://upstream/even/x:1\", \"x:1\"]");
}

#[test]
fn prompts_and_completions_are_passed_on() {
    let over_http = Remote::start("items");
    for upstream in [misbehaving("items", ""), over_http.config("/mcp")] {
        for era in Era::ALL {
            let mut client = until_found(Client::new(Server::start(&upstream), era, false));
            let got = client.request("prompts/get", json!({"name": "odd__greet", "arguments": {"who": "you"}}));
            let got = got.result();
            assert_eq!(
                (&got["description"], &got["messages"][0]["content"]["text"]),
                (&json!("Said."), &json!("greet you"))
            );
            assert_eq!(got["messages"][0]["content"]["_meta"]["vendor.example/card"]["order"], json!([2, 1]));
            let words = client.request("prompts/get", json!({"name": "odd__two_words"}));
            assert_eq!(words.result()["messages"][0]["content"]["text"], "two words None");
            let refused = client.request("prompts/get", json!({"name": "odd__greet"}));
            assert_eq!(refused.error_code(), -32602);
            assert!(refused.message["error"]["message"].as_str().unwrap().contains("whom?"));
            let number = client.request("prompts/get", json!({"name": "odd__greet", "arguments": {"who": 7}}));
            assert_eq!(number.error_code(), -32602);
            assert_eq!(client.request("prompts/get", json!({"name": "odd__nothing"})).error_code(), -32602);

            for (reference, own) in [
                (json!({"type": "ref/prompt", "name": "odd__greet"}), "greet"),
                (json!({"type": "ref/resource", "uri": "notes://{id}"}), "notes://{id}"),
            ] {
                let asked = json!({"ref": reference, "argument": {"name": "who", "value": "m"}, "context": {"arguments": {"b": "1"}}});
                let completed = client.request("completion/complete", asked).result()["completion"].clone();
                let values = completed["values"].as_array().unwrap();
                assert_eq!((&values[0], values.len()), (&json!(format!("{own} who=m ['b']")), 100));
                assert_eq!(
                    (&values[1], &completed["total"], &completed["hasMore"]),
                    (&json!("v0"), &json!(300), &json!(true))
                );
            }
        }
    }
}

#[test]
fn a_question_about_a_resource_reaches_its_client() {
    let able = json!({"elicitation": {}});
    let mut client = until_found(Client::able(Server::start(&misbehaving("items-asks", "")), Era::Modern, false, able));
    let asked = client.request("resources/read", json!({"uri": "notes://1"}));
    let asked = asked.result();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(question.to_string().contains("Which page?"));
    let answers = json!({key: {"action": "accept", "content": {"page": "seven"}}});
    let params = json!({"uri": "notes://1", "inputResponses": answers, "requestState": asked["requestState"]});
    let read = client.request("resources/read", params);
    assert!(read.result()["contents"][0]["text"].as_str().unwrap().contains("seven"), "{}", read.result());
}

/// What two servers have is listed by addresses that name them, and is never read from one of them by chance.
#[test]
fn what_two_servers_have_is_told_apart() {
    let config = server("items", "odd", "") + &server("items", "even", "");
    let mut client = until_found(Client::of(&config));
    let both = eventually(PATIENCE, || {
        let listed = resources(&mut client);
        (listed.len() == 4).then_some(listed)
    });
    let expected: Vec<_> = ["even/bytes://1", "even/notes://1", "odd/bytes://1", "odd/notes://1"]
        .iter()
        .map(|own| format!("{ADDRESS}{own}"))
        .collect();
    assert_eq!(both.expect("both are listed"), expected);
    assert_eq!(
        templates(&mut client),
        [format!("{ADDRESS}even/notes://{{id}}"), format!("{ADDRESS}odd/notes://{{id}}")]
    );
    assert_eq!(text(&mut client, &expected[1]), "read notes://1");
    let unclear = client.request("resources/read", json!({"uri": "notes://1"}));
    let why = unclear.message["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains(&expected[1]) && why.contains(&expected[3]), "{why}");
    assert_eq!(links(&mut client)[0], format!("{ADDRESS}odd/notes://9"));
}

#[test]
fn a_server_shadows_nothing() {
    let (home, _, plugins) = reload::home();
    let config = plugins + &server("items-shadow", "odd", "") + &server("items", "even", "");
    let mut client = until_found(Client::of_server(Server::start_in(home, &config)));
    eventually(PATIENCE, || prompts(&mut client).iter().any(|name| name == "even__greet").then_some(())).unwrap();
    let forged = |listed: &[String]| listed.iter().filter(|uri| !uri.starts_with("portcullis://upstream/")).count();
    let listed = resources(&mut client);
    // The plugin's, and nothing else by its own URI: a server that claims everything is one of two for all of the other's.
    assert_eq!((listed.iter().filter(|uri| *uri == "edition://text").count(), forged(&listed)), (1, 1), "{listed:?}");
    assert!(text(&mut client, "edition://text").starts_with("edition="));
    for uri in ["portcullis://inbox", "portcullis://runs/1", "portcullis://tasks/1"] {
        let own = client.request("resources/read", json!({"uri": uri}));
        assert!(!own.message.to_string().contains("forged"), "{uri}");
        assert_eq!(text(&mut client, &format!("{ADDRESS}odd/{uri}")), format!("forged {uri}"));
    }
    assert_eq!(text(&mut client, &format!("{ADDRESS}even/notes://1")), "read notes://1");
    let all = templates(&mut client);
    assert!(all.iter().any(|template| template == "portcullis://upstream/odd/{+uri}"), "{all:?}");
}

#[test]
fn only_what_is_exposed_is_read() {
    let narrow = "expose = [\"run\"]";
    let mut client = until_found(Client::of(&misbehaving("items", narrow)));
    assert!(resources(&mut client).is_empty() && templates(&mut client).is_empty() && prompts(&mut client).is_empty());
    assert!(client.request("resources/read", json!({"uri": format!("{ADDRESS}odd/notes://1")})).error_code() < 0);
    assert_eq!(client.request("prompts/get", json!({"name": "odd__greet"})).error_code(), -32602);

    let some = "expose = [\"run\", \"greet\"]\nexpose-resources = [\"notes://*\"]";
    let mut client = until_found(Client::of(&misbehaving("items", some)));
    assert_eq!((resources(&mut client), prompts(&mut client)), (vec!["notes://1".into()], vec!["odd__greet".into()]));
    assert_eq!(text(&mut client, "notes://5"), "read notes://5");
    for hidden in ["bytes://1", "portcullis://upstream/odd/x-linked:7", "notes://a/../b", "notes://a/%2e%2e/b"] {
        assert!(client.request("resources/read", json!({"uri": hidden})).error_code() < 0, "{hidden}");
    }
    assert_eq!(links(&mut client)[1], "x-linked:7", "nobody can read it here");
}

#[test]
fn a_server_is_asked_only_for_what_it_declares() {
    let mut client = until_found(Client::of(&misbehaving("items-undeclared", "")));
    assert!(resources(&mut client).is_empty() && prompts(&mut client).is_empty());
    assert_eq!(links(&mut client)[1], "x-linked:7");
    assert!(client.request("resources/read", json!({"uri": format!("{ADDRESS}odd/x:1")})).error_code() < 0);
    let asked = client.server.log();
    assert!(!asked.contains("asked resources") && !asked.contains("asked prompts"), "{asked}");
}

#[test]
fn changed_lists_are_announced() {
    let mut client = until_found(Client::new(Server::start(&misbehaving("items", "")), Era::Modern, false));
    client.begin("subscriptions/listen", json!({"notifications": {"resourcesListChanged": true}}));
    client.notified();
    client.begin_call("odd__run", json!({"path": "list"}));
    client.wait_for("notifications/resources/list_changed");
    assert!(resources(&mut client).contains(&"later://0".to_owned()));
    assert_eq!(text(&mut client, "later://0"), "read later://0");
}

#[test]
fn changes_of_a_resource_reach_who_listens() {
    let uri = json!({"uri": "notes://1"});
    // An older client of an older server, whose requests are passed on one by one.
    let older = misbehaving("items", "protocol = \"2025-11-25\"");
    let mut client = until_found(Client::new(Server::start(&older), Era::Legacy, false));
    client.request("resources/subscribe", uri.clone()).result();
    client.server.wait_for_log("resources/subscribe notes://1");
    client.begin_call("odd__run", json!({"path": "update"}));
    assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], "notes://1");
    client.request("resources/unsubscribe", uri).result();
    client.server.wait_for_log("resources/unsubscribe notes://1");

    let mut client = until_found(Client::new(Server::start(&misbehaving("items", "")), Era::Modern, false));
    let subscriptions = |client: &Client| client.server.log().matches("asked subscriptions/listen").count();
    client.server.wait_for_log("asked subscriptions/listen");
    let before = subscriptions(&client);
    let both = json!({"resourceSubscriptions": ["notes://1", "portcullis://upstream/odd/notes://1", "bytes://1"]});
    client.begin("subscriptions/listen", json!({"notifications": both}));
    client.notified();
    eventually(PATIENCE, || (subscriptions(&client) > before).then_some(())).expect("the server is asked, too");
    client.begin_call("odd__run", json!({"path": "update"}));
    let mut told: Vec<_> = (0..2)
        .map(|_| client.wait_for("notifications/resources/updated")["params"]["uri"].as_str().unwrap().to_owned())
        .collect();
    told.sort();
    assert_eq!(told, ["notes://1", "portcullis://upstream/odd/notes://1"]);
}

/// A server that tells of a change once, and only those who have subscribed: right after it was asked for its first list; before it
/// acknowledges a subscription, which is too late; and over the former subscription when it has got another one.
#[test]
fn no_change_is_missed_around_a_subscription() {
    for kind in ["changes-while-listed", "acknowledges-late", "items-listens"] {
        let mut client = until_found(Client::new(Server::start(&misbehaving(kind, "")), Era::Modern, false));
        if kind == "items-listens" {
            let subscribed = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://1"]});
            client.begin("subscriptions/listen", json!({"notifications": subscribed}));
        }
        let is_listed = |client: &mut Client| client.tools().iter().any(|tool| tool["name"] == "odd__run");
        let listed = eventually(PATIENCE, || is_listed(&mut client).then_some(()));
        assert!(listed.is_some(), "{kind}: {}", client.server.log());
    }
}

#[test]
fn bad_entries_lose_only_themselves() {
    let over_http = Remote::start("items-wrong");
    for upstream in [misbehaving("items-wrong", ""), over_http.config("/mcp"), over_http.config("/events")] {
        let (server, address) = Server::start_http(&upstream);
        server.wait_for_log("is left out");
        let ready = request_at(address, "GET", "/ready", &[], "").message().unwrap();
        let told = ready["leftOut"]["upstream.odd"].to_string();
        assert!(told.contains("resource `javascript:alert(1)` is left out") && told.contains("no-scheme"), "{told}");
        drop(server);
        let mut client = until_found(Client::of(&upstream));
        assert_eq!(resources(&mut client), ["bytes://1", "notes://1", "x:odd"]);
    }
}

#[test]
fn lists_are_bounded() {
    let mut client = until_found(Client::of(&(plugin("echo", "") + &misbehaving("items-endless", ""))));
    for noun in ["resource", "resource template", "prompt"] {
        client.server.wait_for_log(&format!("the server has too many {noun}s; only 512 are used"));
    }
    assert_eq!((resources(&mut client).len(), prompts(&mut client).len()), (512, 512));
    let config = plugin("echo", "") + &misbehaving("items-huge", "");
    let mut client = Client::of_server(Server::measurable(Home::new(), &config, &[], |_| {}));
    let before = client.server.memory();
    client.server.wait_for_log("the server has too many prompts; only 0 are used");
    client.run("echo", json!({})).good();
    let held = client.server.peak_memory().saturating_sub(before);
    println!("hostile: pages of resources: {} MiB held for pages of 4 MiB", held >> 20);
    assert!(held < MOST_HELD, "{held} bytes");
}

#[test]
fn a_list_that_fails_costs_nothing_else() {
    let mut client = until_found(Client::of(&misbehaving("items-no-list", "")));
    client.server.wait_for_log("the list of resources cannot be read");
    assert_eq!(prompts(&mut client), ["odd__greet", "odd__two_words"]);
    assert_eq!(links(&mut client).len(), 4);
}

#[test]
fn a_server_that_dies_says_so_and_stays_listed() {
    let mut client = until_found(Client::of(&misbehaving("items-dies", "")));
    let died = client.request("resources/read", json!({"uri": "notes://1"}));
    assert_eq!(died.error_code(), -32603);
    assert!(died.message["error"]["message"].as_str().unwrap().contains("the connection to the server `odd` was lost"));
    assert_eq!(resources(&mut client), ["bytes://1", "notes://1"]);
    let mut client = until_found(Client::of(&misbehaving("items-large", "")));
    let large = client.request("resources/read", json!({"uri": "notes://1"}));
    assert!(large.message["error"]["message"].as_str().unwrap().contains("8388608"), "{}", large.message);
}

/// A private server's resource is its client's, like the results of its tools.
#[test]
fn a_private_servers_resources_reach_the_client() {
    let mut client = until_found(Client::of(&misbehaving("items", "private = true")));
    let note = read(&mut client, "notes://1");
    assert_eq!((&note["contents"][0]["text"], &note["cacheScope"]), (&json!("read notes://1"), &json!("private")));
}
