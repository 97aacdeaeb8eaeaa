//! The host's own model, which answers for clients without one: who may use it, what is sent to it, and how it fails.

use serde_json::{Value, json};
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Called, Client, Era, Home, Server, plugin};

const KEY: &str = "sk-the-key-of-the-endpoint";
const PROMPT: &str = "What is the capital of France?";

/// An endpoint that answers every request with `answer`.
fn stub(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Web {
    Web::serve(answer)
}

fn paris(_: &Seen) -> Reply {
    Reply::json(json!({
        "model": "stub-1",
        "choices": [{"message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3},
    }))
}

fn config(web: &Web, more: &str, grant: &str) -> String {
    let model = format!("[model]\nurl = {:?}\nname = \"stub\"\n{more}\n", web.url("/v1/"));
    model + &plugin("ask", &format!("grants.client = {{ form = true, sample = {{ {grant} }} }}")) + &plugin("echo", "")
}

fn client(config: &str, era: Era) -> Client {
    Client::able(Server::start(config), era, false, json!({}))
}

fn ask(client: &mut Client, path: &str, n: u64) -> Called {
    client.run("ask", json!({"path": path, "n": n}))
}

#[test]
fn the_hosts_model_answers_for_a_client_without_one() {
    for era in Era::ALL {
        let web = stub(paris);
        let home = Home::new();
        home.write("model.key", KEY);
        let config = config(&web, "key-file = \"model.key\"\nmax-tokens = 60", "fallback = true");
        let mut client = Client::able(Server::start_in(home, &config), era, false, json!({}));
        let called = ask(&mut client, "sample", 0);
        assert_eq!(called.good(), "Paris");
        assert_eq!((&called.usage()["modelTokens"], &called.usage()["questions"]), (&json!(14), &json!(1)));
        let seen = web.seen();
        let [request] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/chat/completions"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let messages = json!([{"role": "user", "content": PROMPT}]);
        assert_eq!(body, json!({"model": "stub", "max_tokens": 60, "stream": false, "messages": messages}));
        // The log has one line with the plugin and the token counts, without the content.
        let line = client.server.wait_for_log("the host's own model was asked");
        for part in ["INFO", "plugin=plugins.ask", "call=", "model=stub-1", "input=11", "output=3"] {
            assert!(line.contains(part), "{part}: {line}");
        }
        let log = client.server.log();
        assert!(log.contains("chmod 600"), "{log}");
        assert!(!log.contains(KEY) && !log.contains("Paris") && !log.contains(PROMPT), "{log}");
        let supported = ask(&mut client, "supported", 0).good();
        assert!(supported.contains("sample: true") && supported.contains("sample-tools: true"), "{supported}");
    }
}

#[test]
fn tool_calls_and_results_pass_between_guest_and_model() {
    let web = stub(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
        if last["role"] == "tool" {
            assert_eq!(last["tool_call_id"], "c-1");
            let content = last["content"].as_str().unwrap_or_default().to_uppercase();
            return Reply::json(json!({"choices": [{"message": {"content": content}, "finish_reason": "length"}]}));
        }
        let call = json!({"id": "c-1", "type": "function", "function": {
            "name": body["tools"][0]["function"]["name"], "arguments": "{\"country\":\"fr\"}",
        }});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        Reply::json(json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
    });
    let mut client = client(&config(&web, "", "fallback = true"), Era::Modern);
    let said = ask(&mut client, "tools", 0).good();
    assert_eq!(said, r#"THE CAPITAL FOR {"COUNTRY":"FR"} Some("maxTokens")"#);
    let second: Value = serde_json::from_str(&web.seen()[1].body).unwrap();
    assert_eq!(second["messages"][1]["tool_calls"][0]["function"]["arguments"], r#"{"country":"fr"}"#);
}

#[test]
fn the_hosts_model_needs_a_grant_and_a_client_without_a_model() {
    let web = stub(paris);
    // Without the grant, the host behaves as if it had no model.
    let mut modern = client(&config(&web, "", "calls = 4"), Era::Modern);
    let answer = modern.request("tools/call", json!({"name": "ask__run", "arguments": {"path": "sample"}}));
    assert_eq!(answer.error_code(), -32021);
    assert_eq!(answer.message["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
    assert!(ask(&mut modern, "supported", 0).good().contains("sample: false"));
    let mut legacy = client(&config(&web, "", "calls = 4"), Era::Legacy);
    assert_eq!(ask(&mut legacy, "sample", 0).code(), "unsupported");
    // A client with a model of its own is asked, even if it does not support tools.
    let granted = config(&web, "", "fallback = true");
    let mut able = Client::able(Server::start(&granted), Era::Modern, false, json!({"sampling": {}}));
    let called = able.call("ask__run", json!({"path": "sample"}));
    assert_eq!(called.result()["inputRequests"]["capital"]["method"], "sampling/createMessage");
    let answer = able.request("tools/call", json!({"name": "ask__run", "arguments": {"path": "tools"}}));
    assert_eq!(answer.error_code(), -32021);
    // No model is configured: a warning says that the grant has no effect.
    let unconfigured = plugin("ask", "grants.client.sample = { fallback = true }");
    let mut client = client(&unconfigured, Era::Modern);
    let answer = client.request("tools/call", json!({"name": "ask__run", "arguments": {"path": "sample"}}));
    assert_eq!(answer.error_code(), -32021);
    client.server.wait_for_log("`client.sample.fallback` has no effect");
    assert_eq!(web.seen().len(), 0);
}

#[test]
fn a_form_and_the_hosts_model_can_be_asked_together() {
    let web = stub(paris);
    let granted = config(&web, "", "fallback = true").replace("form = true", "form = true, roots = true");
    let abilities = json!({"elicitation": {"form": {}}, "roots": {}});
    let mut client = Client::able(Server::start(&granted), Era::Modern, false, abilities);
    let arguments = json!({"path": "many"});
    let first = client.call("ask__run", arguments.clone());
    let mut asked: Vec<_> = first.result()["inputRequests"].as_object().unwrap().keys().collect();
    asked.sort();
    assert_eq!(asked, ["roots", "user_name"]);
    let responses = json!({
        "user_name": {"action": "accept", "content": {"name": "Ada"}},
        "roots": {"roots": [{"uri": "file:///repo"}]},
    });
    let state = &first.result()["requestState"];
    let params =
        json!({"name": "ask__run", "arguments": arguments, "requestState": state, "inputResponses": responses});
    let called = Called(client.request("tools/call", params));
    assert_eq!(called.good(), r#"{"name":"Ada"} | Paris | file:///repo"#);
    assert_eq!((web.seen().len(), &called.usage()["questions"]), (1, &json!(3)));
}

#[test]
fn a_failing_or_hostile_endpoint_is_contained() {
    const HUSH: &str = "hush, this is private";
    let slow = Duration::from_secs(5);
    let huge = format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(5 << 20));
    type Answer = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;
    let cases: [(&str, Answer); 8] = [
        ("HTTP status 500", Box::new(|_| Reply::new(500, HUSH))),
        ("HTTP status 401", Box::new(|_| Reply::new(401, HUSH))),
        (
            "Timeout(1000)",
            Box::new(move |_| {
                std::thread::sleep(slow);
                Reply::new(200, HUSH)
            }),
        ),
        ("answered too much", Box::new(move |_| Reply::new(200, huge.clone()))),
        ("an invalid response", Box::new(|_| Reply::new(200, HUSH))),
        (
            "an invalid response",
            Box::new(|_| Reply::json(json!({"choices": [{"message": {"content": {"hush, ": HUSH}}}]}))),
        ),
        ("an invalid response", Box::new(|_| Reply::new(200, vec![0xff; 1000]))),
        ("cannot be reached", Box::new(|_| Reply::new(200, HUSH).with("Content-Encoding: x\r\nbad header", "\0"))),
    ];
    for (expected, answer) in cases {
        let web = stub(answer);
        let mut client = client(&config(&web, "timeout = \"1s\"", "fallback = true"), Era::Modern);
        let called = ask(&mut client, "sample", 0);
        assert!(called.is_error() && called.text().contains(expected), "{expected}: {}", called.text());
        assert!(called.0.elapsed() < slow, "{expected}: {:?}", called.0.elapsed());
        assert!(!called.text().contains("127.0.0.1"), "{}", called.text());
        let line = client.server.wait_for_log("asking the host's own model: ");
        assert!(line.contains("WARN") && line.contains("plugin=plugins.ask"), "{line}");
        assert!(!client.server.log().contains("hush"), "{}", client.server.log());
        client.check_alive();
    }
    // Redirects are not followed: only the operator decides where the key is sent.
    let (elsewhere, redirected) = (stub(paris), "/elsewhere");
    let there = elsewhere.url(redirected);
    let web = stub(move |_| Reply::redirect(&there));
    let mut client = client(&config(&web, "", "fallback = true"), Era::Modern);
    let called = ask(&mut client, "sample", 0);
    assert!(called.is_error() && called.text().contains("HTTP status 302"), "{}", called.text());
    assert!(client.server.wait_for_log("asking the host's own model: ").contains("redirects are not followed"));
    assert_eq!(elsewhere.seen().len(), 0);
    // Nothing listens at the endpoint.
    let gone = config(&stub(paris), "", "fallback = true");
    let mut client = self::client(&gone, Era::Modern);
    let called = ask(&mut client, "sample", 0);
    assert!(called.is_error() && called.text().contains("cannot be reached"), "{}", called.text());
    client.check_alive();
}

#[test]
fn the_hosts_model_is_limited_by_calls_and_tokens() {
    for (model, grant, asked, words) in [
        ("", "fallback = true, calls = 2, tokens = 10_000", 2, "calls: the limit is 2"),
        ("", "fallback = true, calls = 9, tokens = 399", 3, "model tokens: the limit is 399"),
        ("calls-per-minute = 2", "fallback = true, calls = 9, tokens = 10_000", 2, "calls: the limit is 2"),
    ] {
        let web = stub(paris);
        let mut client = client(&config(&web, model, grant), Era::Modern);
        let called = ask(&mut client, "samples", asked + 1);
        assert!(called.is_error() && called.text().contains(words), "{}", called.text());
        assert_eq!(web.seen().len() as u64, asked, "{grant}");
        assert_eq!(called.usage()["modelTokens"], 14 * asked);
        // The limits of a grant apply to each call, those of `[model]` to all calls together.
        let again = ask(&mut client, "sample", 0);
        assert_eq!(again.is_error(), !model.is_empty(), "{}", again.result());
    }
}

#[test]
fn waiting_for_the_model_does_not_count_towards_the_deadline() {
    let web = stub(|seen| {
        std::thread::sleep(Duration::from_millis(1_800));
        paris(seen)
    });
    let slow =
        config(&web, "", "fallback = true").replace("grants.client", "limits.deadline = \"1500ms\"\ngrants.client");
    let mut client = client(&slow, Era::Modern);
    let called = ask(&mut client, "sample", 0);
    assert_eq!(called.good(), "Paris");
    // A client can cancel while the model computes its answer.
    let id = client.begin_call("ask__run", json!({"path": "sample"}));
    assert!(suite::eventually(suite::PATIENCE, || (web.seen().len() == 2).then_some(())).is_some());
    client.cancel(id);
    client.check_alive();
    client.server.wait_for_log("cancelled");
}
