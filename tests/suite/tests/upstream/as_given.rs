//! Tools of a server reach clients as the server gives them: what this host cannot check loses its check, and what it does not read
//! is passed on.

use super::{Remote, misbehaving, names, until_found};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use suite::http::request_at;
use suite::{Client, Era, Home, Server, portcullis};

fn tools(client: &mut Client) -> BTreeMap<String, Value> {
    client.tools().into_iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool)).collect()
}

#[test]
fn odd_definitions_lose_only_their_check() {
    let remote = Remote::start("odd-definitions");
    for upstream in [misbehaving("odd-definitions", ""), remote.config("/mcp")] {
        let mut client = until_found(Client::of(&upstream));
        let tools = tools(&mut client);
        let expected = [
            "Bao_Cun_Wen_Jian",
            "bare",
            "copied",
            "elsewhere",
            "exclusive",
            "hidden",
            "hindi",
            "hints",
            "long",
            "long-result",
            "look-ahead",
            "marked",
            "null",
            "odd-result",
            "persian",
            "php",
            "required",
            "tuple",
            "two_words",
        ];
        let expected: Vec<_> = expected.iter().map(|name| format!("odd__{name}")).collect();
        assert_eq!(tools.keys().cloned().collect::<Vec<_>>(), expected);
        let of = |name: &str| &tools[&format!("odd__{name}")];
        let path = |name: &str| &of(name)["inputSchema"]["properties"]["path"];
        // Shown as they are, or in the current draft.
        assert_eq!(path("look-ahead")["pattern"], "^(?!/)");
        assert_eq!(path("long")["description"].as_str().unwrap().len(), 70_000);
        assert_eq!(path("tuple")["prefixItems"], json!([{"type": "string"}, {"type": "number"}]));
        assert_eq!(of("marked")["inputSchema"]["required"], json!(["path"]));
        assert_eq!(of("php")["inputSchema"], json!({"type": "object", "properties": {}}));
        assert_eq!((path("elsewhere"), path("null")), (&json!({}), &json!({"type": "string"})));
        assert_eq!(
            of("long-result")["outputSchema"]["properties"]["path"]["description"].as_str().unwrap().len(),
            70_000
        );
        assert_eq!(of("copied")["description"], "See the [2Jdocumentation");
        assert_eq!(of("persian")["title"], "odd: می\u{200c}خواهم");
        assert_eq!(of("Bao_Cun_Wen_Jian")["title"], "odd: 保存文件");
        assert_eq!(of("Bao_Cun_Wen_Jian")["_meta"]["dev.portcullis/source"]["tool"], "保存文件");
        // The server has the last word on what nobody has checked.
        for name in ["look-ahead", "long", "Bao_Cun_Wen_Jian", "two_words", "hidden", "bare"] {
            let called = client.call(&format!("odd__{name}"), json!({"path": 7}));
            assert_eq!(called.is_error(), name == "hidden", "{name}: {}", called.result());
        }
        for name in ["tuple", "marked", "null"] {
            let called = client.call(&format!("odd__{name}"), json!({"path": 7}));
            assert_eq!(called.code(), "invalid-arguments", "{name}");
        }
        assert!(!client.server.log().contains("is left out"), "{}", client.server.log());
    }
}

/// What a host has no use for may be of use to a client.
#[test]
fn parts_that_the_host_does_not_read_are_passed_on() {
    let meta = json!({"uri": "ui://card", "order": [2, 1]});
    let icon = json!([{"src": "https://vendor.example/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}]);
    for era in Era::ALL {
        let mut client = until_found(Client::new(Server::start(&misbehaving("whole", "")), era, false));
        let tool = &tools(&mut client)["odd__run"];
        assert_eq!(
            (&tool["title"], &tool["annotations"]["title"]),
            (&json!("odd: A title"), &json!("odd: Another title"))
        );
        assert_eq!((&tool["icons"], &tool["_meta"]["vendor.example/card"]), (&icon, &meta), "{tool}");
        // A request with a progress token is served through the library, one without is not.
        for progress in [false, true] {
            client.progress = progress;
            let called = client.call("odd__run", json!({}));
            let result = called.result();
            assert_eq!(result["_meta"]["vendor.example/card"], meta, "{era:?}: {result}");
            let content = result["content"].as_array().unwrap();
            assert!(content.iter().take(2).all(|block| block["_meta"]["vendor.example/card"] == meta), "{result}");
            assert_eq!(
                (&content[1]["icons"], &content[1]["title"], &content[1]["size"]),
                (&icon, &json!("One"), &json!(7))
            );
            let resource = json!({"uri": "notes://2", "text": "t", "_meta": {"vendor.example/card": meta}});
            assert_eq!(content[2]["resource"], resource, "nothing is invented");
            assert!(!result.to_string().contains("forged"), "{result}");
        }
    }
}

/// Of many warnings and few losses, the losses are told.
#[test]
fn what_is_lost_is_told_first_and_to_operators() {
    let config = misbehaving("losses", "");
    let (server, address) = Server::start_http(&config);
    server.wait_for_log("the server's list of tools has further problems");
    let log = server.log();
    let lost = log.find("the tool `only-a-task` is left out: it runs only as a task").expect("a line in the log");
    assert!(log.find("some clients may lose all tools").is_some_and(|warned| lost < warned), "{log}");
    assert!(log.matches("some clients may lose all tools").count() <= 14, "{log}");
    let ready = request_at(address, "GET", "/ready", &[], "").message().unwrap();
    let told = ready["leftOut"]["upstream.odd"].as_array().unwrap_or_else(|| panic!("{ready}"));
    assert_eq!(told.len(), 2, "{ready}");
    assert!(told.iter().any(|why| why.as_str().unwrap().contains("`only-a-task`")), "{ready}");
    drop(server);

    let home = Home::new();
    let file = home.write("portcullis.toml", &config).display().to_string();
    let listed = portcullis(&home, &["plugin", "list", "--load", "--config", &file]);
    assert!(listed.good().contains("connected") && listed.good().contains("may-be-one"), "{listed:?}");
    assert!(
        !listed.good().contains("only-a-task") && listed.stderr.contains("the tool `only-a-task` is left out"),
        "{listed:?}"
    );
    let listed = portcullis(&home, &["plugin", "list", "--load", "--json", "--config", &file]);
    let listed: Value = serde_json::from_str(listed.good()).unwrap();
    assert_eq!(
        (listed[0]["state"].as_str(), listed[0]["leftOut"].as_array().map(Vec::len)),
        (Some("connected"), Some(2))
    );
}

/// A tool that is only called as a task is followed as one, also for clients that know no tasks.
#[test]
fn a_tool_that_is_only_called_as_a_task_is_followed() {
    for era in Era::ALL {
        let mut client = until_found(Client::new(Server::start(&misbehaving("only-tasks", "")), era, false));
        assert_eq!(names(&mut client), ["odd__run"]);
        assert_eq!(client.call("odd__run", json!({})).good(), "done as a task", "{era:?}");
    }
}

/// Nobody follows the task of a call that its client has cancelled.
#[test]
fn a_task_ends_with_the_call_that_it_was_made_for() {
    let config = misbehaving("only-tasks", "").replace("\"only-tasks\"]", "\"only-tasks\", \"endless\"]");
    let mut client = until_found(Client::new(Server::start(&config), Era::Legacy, false));
    let id = client.begin_call("odd__run", json!({}));
    client.server.wait_for_log("the task is looked at");
    client.cancel(id);
    client.server.wait_for_log("the task is cancelled");
}
