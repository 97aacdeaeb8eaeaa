//! Resources, prompts and completions of a plugin: the same over every transport and in both revisions.

use serde_json::{Value, json};
use suite::{Answer, Client, Era, Server, Speaker, plugin};

fn texts(answer: &Answer, list: &str, key: &str) -> Vec<String> {
    let entries = answer.result()[list].as_array().unwrap_or_else(|| panic!("no {list}: {}", answer.message));
    entries.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

fn check_meta(modern: bool, answer: &Answer, cached: bool) {
    let result = answer.result();
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "portcullis", "{result}");
    if modern {
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), cached, "{result}");
    }
}

#[test]
fn lists_are_complete_and_sorted() {
    for (way, mut speaker) in Speaker::all(&(plugin("provider", "") + &plugin("only-resources", ""))) {
        let modern = speaker.is_modern();
        let resources = speaker.ask("resources/list", json!({}));
        let uris = texts(&resources, "resources", "uri");
        let words = ["asks", "broken", "bytes", "caller", "foreign", "gone", "nothing", "spin", "text"];
        let first = ["only://one", "portcullis://inbox"].map(str::to_owned);
        let expected: Vec<_> = first.into_iter().chain(words.iter().map(|word| format!("test://{word}"))).collect();
        assert_eq!(uris, expected, "{way}");
        let text = &resources.result()["resources"][10];
        assert_eq!(text["mimeType"], "text/plain");
        assert_eq!((&text["size"], &text["title"]), (&json!(5), &json!("A title")));
        assert_eq!(text["annotations"]["audience"], json!(["assistant"]));
        assert_eq!(text["annotations"]["lastModified"], "2026-01-02T03:04:05Z");
        assert_eq!(text["icons"][0]["src"], "data:,");
        check_meta(modern, &resources, true);

        let templates = speaker.ask("resources/templates/list", json!({}));
        let ours = ["portcullis://inbox{?after}", "portcullis://runs/{call}{?after}"];
        let all = ours.into_iter().chain(["test://item/{id}/of/{folder}"]).collect::<Vec<_>>();
        assert_eq!(texts(&templates, "resourceTemplates", "uriTemplate"), all, "{way}");
        check_meta(modern, &templates, true);

        let prompts = speaker.ask("prompts/list", json!({}));
        let names = ["asks", "empty", "fails", "greet", "picture"].map(|name| format!("provider__{name}"));
        assert_eq!(texts(&prompts, "prompts", "name"), names, "{way}");
        let greet = &prompts.result()["prompts"][3];
        assert_eq!(
            (&greet["arguments"][0]["name"], &greet["arguments"][0]["required"]),
            (&json!("name"), &json!(true))
        );
        assert_eq!(
            (&greet["arguments"][1]["name"], &greet["arguments"][1]["required"]),
            (&json!("style"), &json!(false))
        );
        check_meta(modern, &prompts, true);
        assert_eq!(texts(&speaker.ask("tools/list", json!({})), "tools", "name"), ["provider__run"], "{way}");
    }
}

#[test]
fn resources_are_read() {
    for (way, mut speaker) in Speaker::all(&(plugin("provider", "") + &plugin("only-resources", ""))) {
        let modern = speaker.is_modern();
        let mut read = |uri: &str| speaker.ask("resources/read", json!({"uri": uri}));
        let text = read("test://text");
        let piece = json!({"uri": "test://text", "mimeType": "text/plain", "text": "hello"});
        assert_eq!(text.result()["contents"], json!([piece]), "{way}");
        assert!(text.result()["_meta"]["dev.portcullis/usage"]["fuel"].is_u64(), "{}", text.message);
        check_meta(modern, &text, true);
        assert_eq!(read("test://bytes").result()["contents"][0]["blob"], "AQID", "{way}");
        assert_eq!(read("only://one").result()["contents"][0]["text"], "the only one");
        assert_eq!(read("test://item/7/of/a%20b").result()["contents"][0]["text"], "this is item/7/of/a%20b");
        // Unlisted, unmatched, listed but gone, and matched but missing URIs all get the same error.
        for uri in
            ["nobody://knows", "test://item/7", "test://item/a/b/of/c", "test://gone", "test://item/missing/of/c"]
        {
            let answer = read(uri);
            assert_eq!(answer.error_code(), if modern { -32602 } else { -32002 }, "{way} {uri:?}: {}", answer.message);
            assert_eq!(answer.message["error"]["data"]["uri"], uri, "{way}: {}", answer.message);
        }
        for (uri, code) in [
            ("test://spin", "fuel-exhausted"),
            ("test://nothing", "invalid-output"),
            ("test://broken", "failed"),
            ("test://foreign", "invalid-output"),
        ] {
            let answer = read(uri);
            assert_eq!(answer.error_code(), -32603, "{way} {uri}: {}", answer.message);
            let error = &answer.message["error"];
            assert_eq!(error["data"]["dev.portcullis/error"]["code"], code, "{way} {uri}: {error}");
        }
        assert!(read("test://broken").message["error"]["message"].as_str().unwrap().contains("the disk is full"));
    }
}

#[test]
fn prompts_are_filled_in() {
    for (way, mut speaker) in Speaker::all(&plugin("provider", "")) {
        let modern = speaker.is_modern();
        let mut get = |name: &str, arguments: Value| {
            speaker.ask("prompts/get", json!({"name": format!("provider__{name}"), "arguments": arguments}))
        };
        let greet = get("greet", json!({"style": "formal", "name": "Ada"}));
        check_meta(modern, &greet, false);
        assert_eq!(greet.result()["description"], "Filled in.");
        let messages = &greet.result()["messages"];
        // The arguments keep the prompt's order.
        assert_eq!(messages[0]["content"]["text"], r#"Greet [("name", "Ada"), ("style", "formal")]"#, "{way}");
        assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&json!("user"), &json!("assistant")));
        let picture = get("picture", json!({}));
        let messages = &picture.result()["messages"];
        assert_eq!(messages[0]["content"], json!({"type": "image", "data": "AQID", "mimeType": "image/png"}), "{way}");
        assert_eq!(messages[1]["content"]["resource"]["text"], "hello");
        for (name, arguments) in [
            ("greet", json!({})),
            ("greet", json!({"name": "Ada", "colour": "red"})),
            ("greet", json!({"name": 7})),
            ("nobody", json!({})),
            ("fails", json!({})),
        ] {
            let answer = get(name, arguments.clone());
            assert_eq!(answer.error_code(), -32602, "{way} {name} {arguments}: {}", answer.message);
        }
        let empty = get("empty", json!({}));
        assert_eq!(empty.message["error"]["data"]["dev.portcullis/error"]["code"], "invalid-output", "{way}");
        let bare = speaker.ask("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
        assert_eq!(bare.error_code(), -32602, "{way}: it has a prefix");
    }
}

#[test]
fn arguments_are_completed() {
    for (way, mut speaker) in Speaker::all(&(plugin("provider", "") + &plugin("edition", ""))) {
        let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
        let template = json!({"type": "ref/resource", "uri": "test://item/{id}/of/{folder}"});
        let mut complete = |of: &Value, name: &str, value: &str| {
            let context = json!({"arguments": {"name": "Ada", "unknown": "x"}});
            let argument = json!({"name": name, "value": value});
            speaker.ask("completion/complete", json!({"ref": of, "argument": argument, "context": context}))
        };
        let style = complete(&prompt("provider__greet"), "style", "f");
        let words = ["formal", "friendly"].map(|word| format!(r#"greet/style: {word} [("name", "Ada")]"#));
        assert_eq!(style.result()["completion"]["values"], json!(words), "{way}");
        assert_eq!(style.result()["completion"]["hasMore"], false);
        let many = complete(&template, "id", "x");
        let completion = &many.result()["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100, "{way}");
        assert_eq!((&completion["hasMore"], &completion["total"]), (&json!(true), &json!(150)));
        // A suggestion with terminal control characters makes the answer invalid.
        let folder = complete(&template, "folder", "");
        assert_eq!(folder.message["error"]["data"]["dev.portcullis/error"]["code"], "invalid-output", "{way}");
        // This plugin suggests nothing.
        assert_eq!(complete(&prompt("edition__ask"), "x", "").error_code(), -32602);
        for (of, name) in [(prompt("nobody"), "style"), (prompt("provider__greet"), "colour"), (template.clone(), "x")]
        {
            assert_eq!(complete(&of, name, "").error_code(), -32602, "{way} {of} {name}");
        }
        let other = json!({"type": "ref/resource", "uri": "test://text"});
        assert_eq!(complete(&other, "id", "").error_code(), -32602, "{way}");
    }
}

#[test]
fn capabilities_are_declared_before_any_item_exists() {
    let mut client = Client::of(&plugin("echo", ""));
    let answer = client.request("server/discover", json!({}));
    let capabilities = &answer.result()["capabilities"];
    for list in ["tools", "prompts", "resources"] {
        assert_eq!(capabilities[list]["listChanged"], true, "{capabilities}");
    }
    assert_eq!(capabilities["resources"]["subscribe"], true, "{capabilities}");
    assert!(capabilities["completions"].is_object(), "{capabilities}");
    assert_eq!(client.request("prompts/list", json!({})).result()["prompts"], json!([]));
    assert_eq!(texts(&client.request("resources/list", json!({})), "resources", "uri"), ["portcullis://inbox"]);
}

#[test]
fn a_resource_read_reports_progress_and_can_be_cancelled() {
    for era in Era::ALL {
        let spin = "limits.fuel = 1_000_000_000_000\nlimits.deadline = \"1h\"";
        let mut client = Client::new(Server::start(&(plugin("provider", spin) + &plugin("echo", ""))), era, false);
        client.progress = true;
        let text = client.request("resources/read", json!({"uri": "test://text"}));
        assert_eq!(text.notified("notifications/progress")[0]["message"], "reading", "{era:?}");
        client.progress = false;
        let meta = json!({"dev.portcullis/correlationId": "mine"});
        let caller = client.request("resources/read", json!({"uri": "test://caller", "_meta": meta}));
        assert!(caller.result()["contents"][0]["text"].as_str().unwrap().starts_with("local "), "{}", caller.message);
        // A read can be cancelled.
        let id = client.begin("resources/read", json!({"uri": "test://spin"}));
        suite::Watch::until_busy(&client.server);
        let watch = suite::Watch::start(&client.server);
        client.cancel(id);
        assert!(watch.until_idle(&client.server).as_secs() < 2);
        client.check_alive();
    }
}

/// Accepts any form.
fn answer(_: &str, _: &Value) -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

#[test]
fn reads_and_prompts_may_ask_questions() {
    let read = || ("resources/read", json!({"uri": "test://asks"}));
    let get = || ("prompts/get", json!({"name": "provider__asks", "arguments": {}}));
    let said = |answer: &Answer| match &answer.result()["contents"] {
        Value::Null => answer.result()["messages"][0]["content"]["text"].clone(),
        contents => contents[0]["text"].clone(),
    };
    let config = plugin("provider", "grants.client.form = true");
    let able = json!({"elicitation": {"form": {}}});
    for (method, params) in [read(), get()] {
        let mut client = Client::able(Server::start(&config), Era::Legacy, false, able.clone());
        client.answering = Some(answer);
        assert_eq!(said(&client.request(method, params.clone())), r#"{"name":"Ada"}"#, "{method}");

        let mut client = Client::able(Server::start(&config), Era::Modern, false, able.clone());
        let asks = client.request(method, params.clone());
        assert_eq!(asks.result()["resultType"], "input_required", "{}", asks.message);
        assert_eq!(asks.result()["inputRequests"]["who"]["params"]["message"], "provider asks: Who?");
        let mut again = params.clone();
        again["requestState"] = asks.result()["requestState"].clone();
        again["inputResponses"] = json!({"who": answer("", &Value::Null)});
        // The state of one request is not valid for another.
        let (other, mut wrong) = if method == "prompts/get" { read() } else { get() };
        wrong["requestState"] = again["requestState"].clone();
        assert_eq!(client.request(other, wrong).error_code(), -32602);
        assert_eq!(said(&client.request(method, again.clone())), r#"{"name":"Ada"}"#);
        assert_eq!(client.request(method, again).error_code(), -32602, "a state works once");

        let mut client = Client::new(Server::start(&config), Era::Modern, false);
        let refused = client.request(method, params);
        assert_eq!(refused.error_code(), -32021, "{}", refused.message);
        assert!(refused.message["error"]["data"]["requiredCapabilities"]["elicitation"]["form"].is_object());
    }
}
