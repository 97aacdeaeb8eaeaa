//! `wasmcp:mcp-v20251125` and `wasmcp:mcp-v20250618`.

use super::{refused, speaks};
use serde_json::{Value, json};
use suite::{Client, Era, Home, Server, paths, plugin, plugin_from, with_manifest};

fn calculator() -> Client {
    Client::of(&plugin("wasmcp-calculator", ""))
}

#[test]
fn tools_of_wasmcp_are_listed_and_called() {
    let mut client = calculator();
    let tools = client.tools();
    // Of both pages.
    assert_eq!(tools.len(), 8, "{tools:?}");
    let add = tools.iter().find(|tool| tool["name"] == "wasmcp-calculator__add").unwrap();
    assert_eq!(
        (&add["title"], &add["description"]),
        (&json!("wasmcp-calculator: Addition"), &json!("Adds two numbers.")),
        "{add}"
    );
    assert_eq!(add["annotations"]["readOnlyHint"], true, "{add}");
    assert_eq!(add["annotations"]["openWorldHint"], false, "{add}");
    assert_eq!(add["icons"][0]["src"], "https://example.com/add.png", "{add}");
    assert_eq!(add["outputSchema"]["required"], json!(["sum"]));
    let fail = tools.iter().find(|tool| tool["name"] == "wasmcp-calculator__fail").unwrap();
    assert_eq!(fail["description"], "The tool `fail`.");
    let mut call = |tool: &str, arguments: Value| client.call(&format!("wasmcp-calculator__{tool}"), arguments);
    let added = call("add", json!({"a": 2, "b": 0.5}));
    assert_eq!((added.good().as_str(), &added.result()["structuredContent"]), ("2.5", &json!({"sum": 2.5})));
    // The host checks arguments and results, as of its own plugins.
    assert_eq!(call("add", json!({"a": "2"})).code(), "invalid-arguments");
    assert_eq!(call("wrong", json!({})).code(), "invalid-output");
    let failed = call("fail", json!({}));
    assert!(failed.is_error() && failed.text() == "it was not to be", "{}", failed.result());
    let refused = call("refuse", json!({}));
    assert!(refused.is_error() && refused.text().contains("not these"), "{}", refused.result());
    let gone = call("gone", json!({}));
    assert!(gone.is_error() && gone.text().contains("it has no tool of this name"), "{}", gone.result());
    assert_eq!(call("context", json!({})).good(), "2025-11-25 (0, [10]) false false false");
    let pictures = call("pictures", json!({}));
    let content = &pictures.result()["content"];
    let annotations = json!({"audience": ["user"], "priority": 0.5});
    assert_eq!(
        content[0],
        json!({"type": "image", "data": "AQL/", "mimeType": "image/png", "annotations": annotations})
    );
    assert_eq!(content[1]["mimeType"], "audio/wav");
    assert_eq!(content[2], json!({"type": "resource_link", "uri": "acme:1", "name": "one"}), "{content}");
    assert_eq!(content[3]["resource"]["text"], "two", "{content}");
}

#[test]
fn messages_of_wasmcp_become_progress_and_log_records() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&plugin("wasmcp-calculator", "")), era, false);
        client.progress = true;
        if era == Era::Legacy {
            client.request("logging/setLevel", json!({"level": "warning"})).result();
        }
        let meta = json!({"io.modelcontextprotocol/logLevel": "warning"});
        let params = json!({"name": "wasmcp-calculator__factorial", "arguments": {"n": 4}, "_meta": meta});
        let answer = client.request("tools/call", params);
        assert_eq!(answer.result()["content"][0]["text"], "24");
        let reports = answer.notified("notifications/progress");
        assert!(!reports.is_empty(), "no progress came");
        let last = reports[reports.len() - 1];
        assert_eq!(last["total"], 4.0, "{last}");
        let messages = answer.notified("notifications/message");
        assert!(messages.iter().any(|it| it["data"] == "factorial: multiplied by 1"), "{messages:?}");
        assert!(messages.iter().all(|it| it["level"] == "warning"), "{messages:?}");
        client.server.wait_for_log("factorial: multiplied by 4");
    }
}

#[test]
fn resources_prompts_and_completions_of_wasmcp() {
    let home = Home::new();
    let component = std::fs::read(paths::guest("wasmcp-library")).unwrap();
    let manifest = json!({"name": "library", "version": "1.0.0", "requests": {"filesystem": "read"}});
    let file = home.write("library.wasm", with_manifest(component, &manifest));
    let grants = "grants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"read\" }]";
    let mut client = Client::of_server(Server::start_in(home, &plugin_from("library", &file, grants)));
    let listed = client.request("resources/list", json!({}));
    let book = listed.result()["resources"].as_array().unwrap().iter().find(|it| it["uri"] == "library:book").cloned();
    let book = book.unwrap();
    assert_eq!((&book["title"], &book["size"], &book["mimeType"]), (&json!("A book"), &json!(5), &json!("text/plain")));
    let templates = client.request("resources/templates/list", json!({}));
    assert!(templates.result()["resourceTemplates"].to_string().contains("library:shelf/{number}"));
    let mut read = |uri: &str| client.request("resources/read", json!({"uri": format!("library:{uri}")}));
    assert_eq!(read("book").result()["contents"][0]["text"], "words");
    assert_eq!(read("bytes").result()["contents"][0]["blob"], "AP8=");
    assert_eq!(read("file").result()["contents"][0]["text"], "inside", "a stream of a granted file");
    assert_eq!(read("shelf/7").result()["contents"][0]["text"], "of shelf/7");
    let missing = read("lost").message["error"].clone();
    assert_eq!(missing["data"]["uri"], "library:lost", "{missing}");
    let broken = read("broken").message["error"].clone();
    assert!(broken["message"].as_str().unwrap().contains("the shelf is broken"), "{broken}");
    let prompts = client.request("prompts/list", json!({}));
    let prompt = &prompts.result()["prompts"][0];
    assert_eq!((&prompt["name"], &prompt["arguments"][0]["required"]), (&json!("library__ask"), &json!(true)));
    let asked = client.request("prompts/get", json!({"name": "library__ask", "arguments": {"book": "\"it\""}}));
    let messages = &asked.result()["messages"];
    assert_eq!(messages[0]["content"]["text"], r#"{"book":"\"it\""}"#, "{messages}");
    assert_eq!(messages[1]["role"], "assistant");
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "library__ask"}, "argument": {"name": "book", "value": "a"},
    });
    let completed = client.request("completion/complete", params);
    assert_eq!(completed.result()["completion"]["values"], json!(["booka of ask "]));
    assert_eq!(completed.result()["completion"]["total"], 7);
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "library:shelf/{number}"}, "argument": {"name": "number", "value": "1"},
    });
    let completed = client.request("completion/complete", params);
    assert_eq!(completed.result()["completion"]["values"], json!(["number1 of library:shelf/{number} "]));
}

#[test]
fn a_stream_of_a_file_that_is_not_granted_cannot_be_had() {
    let mut client = Client::of(&plugin("wasmcp-library", ""));
    let read = client.request("resources/read", json!({"uri": "library:file"}));
    assert_eq!(read.result()["contents"][0]["text"], "no file is granted");
}

#[test]
fn the_older_protocol_is_the_same_adapter() {
    let mut client = Client::of(&plugin("wasmcp-older", ""));
    assert_eq!(client.tools()[0]["title"], "wasmcp-older: Reverse");
    assert_eq!(client.call("wasmcp-older__reverse", json!({"text": "abc"})).good(), "cba 2025-06-18");
    client.server.wait_for_log("not JSON");
}

#[test]
fn check_says_which_dialect_a_component_speaks() {
    speaks("wasmcp-calculator", "wasmcp:mcp-v20251125");
    speaks("wasmcp-older", "wasmcp:mcp-v20250618");
    speaks("wasmcp-session", "wasmcp:mcp-v20251125");
    speaks("wasmcp-counter", "wasmcp:mcp-v20250618");
    speaks("echo", "portcullis:plugin");
    speaks("plain-shapes", "plain");
}

#[test]
fn what_wasmcp_has_and_this_host_does_not_is_refused_by_name() {
    refused("wasmcp-flags", &["wasmcp:mcp-v20251125/tools@0.1.1#list-tools", "has flags in a list"]);
    refused("wasmcp-import", &["wasmcp:mcp-v20251125/server-io@0.1.1#send-message", "has flags in a list"]);
    refused("wasmcp-endless", &["does not end after 64 pages"]);
}

#[test]
fn a_hostile_component_of_wasmcp_gets_nothing_else() {
    let limits = "limits.fuel = 200_000_000\nlimits.deadline = \"20s\"\nlimits.breaker.failures = 0";
    let mut client = Client::of(&(plugin("wasmcp-hostile", limits) + &plugin("echo", "")));
    client.progress = true;
    let mut run = |what: &str| client.call("wasmcp-hostile__run", json!({ "what": what }));
    assert_eq!(run("write").text(), "false", "bytes of its own on the wire");
    for (what, why) in [
        ("answer", "notifications only"),
        ("ask", "notifications only"),
        ("changed", "does not send `tools-list-changed`"),
    ] {
        let said = run(what).good();
        assert!(said.contains(why), "{what}: {said}");
    }
    let reports = run("progress");
    let done: Vec<_> = reports.progress().iter().filter_map(|it| it["progress"].as_f64()).collect();
    // A report may be merged with the next one; those that do not grow are never sent.
    assert!(!done.is_empty() && done.iter().all(|done| [1.0, 2.0].contains(done)), "{done:?}");
    assert_eq!(run("read").good(), "false");
    assert_eq!(run("next").good(), "false false false");
    assert_eq!(run("roles").code(), "invalid-output", "its priority is 9");
    assert_eq!(run("streams").code(), "invalid-output");
    assert_eq!(run("flood").code(), "fuel-exhausted");
    assert_eq!(run("giant").code(), "hostcall-exceeded");
    assert_eq!(run("").good(), "nothing");
    client.check_alive();
}
