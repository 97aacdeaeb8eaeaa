//! `wasix:mcp@25.6.18`.

use super::{refused, speaks};
use serde_json::{Value, json};
use suite::{Client, plugin};

#[test]
fn tools_of_wasix_are_listed_and_called() {
    let mut client = Client::of(&plugin("wasix-router", "limits.fuel = 200_000_000"));
    client.progress = true;
    let tools = client.tools();
    let double = tools.iter().find(|tool| tool["name"] == "wasix-router__double").unwrap();
    assert_eq!(
        (&double["title"], &double["annotations"]["readOnlyHint"]),
        (&json!("wasix-router: A tool"), &json!(true)),
        "{double}"
    );
    let mut call = |tool: &str, arguments: Value| client.call(&format!("wasix-router__{tool}"), arguments);
    let doubled = call("double", json!({"n": 4}));
    assert_eq!((doubled.good().as_str(), &doubled.result()["structuredContent"]), ("8", &json!({"n": 8})));
    let done: Vec<_> = doubled.progress().iter().filter_map(|it| it["progress"].as_f64()).collect();
    assert!(!done.is_empty() && done.iter().all(|done| [0.5, 1.0].contains(done)), "{done:?}");
    assert_eq!(call("double", json!({"n": "4"})).code(), "invalid-arguments");
    let kinds = call("kinds", json!({}));
    let annotations = json!({"audience": ["assistant"], "priority": 0.5});
    let content = json!([
        {"type": "image", "data": "AQL/", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "acme:1", "name": "acme:1", "annotations": annotations},
        {"type": "resource", "resource": {"uri": "acme:2", "text": "words"}},
        {"type": "resource", "resource": {"uri": "acme:2", "mimeType": "application/pdf", "blob": "AQI="}},
    ]);
    assert_eq!(kinds.result()["content"], content, "{}", kinds.result());
    let failed = call("fail", json!({}));
    assert!(failed.is_error() && failed.text() == "it was not to be", "{}", failed.result());
    let refused = call("refuse", json!({}));
    assert!(refused.is_error() && refused.text().contains("not these"), "{}", refused.result());
    let asks = call("ask", json!({}));
    assert!(asks.is_error() && asks.text().contains("It asks: How many?"), "{}", asks.result());
    for wrong in ["bad-bytes", "bad-priority"] {
        assert_eq!(call(wrong, json!({})).code(), "invalid-output", "{wrong}");
    }
    assert_eq!(call("spin", json!({})).code(), "fuel-exhausted");
}

#[test]
fn resources_and_prompts_of_wasix() {
    let mut client = Client::of(&plugin("wasix-router", ""));
    let mut read = |uri: &str| client.request("resources/read", json!({"uri": format!("router:{uri}")}));
    assert_eq!(read("text").result()["contents"][0]["text"], "words");
    assert_eq!(read("bytes").result()["contents"][0]["blob"], "AP8=");
    let lost = read("lost").message["error"].clone();
    assert_eq!(lost["data"]["uri"], "router:lost", "{lost}");
    let prompts = client.request("prompts/list", json!({}));
    let prompt = &prompts.result()["prompts"][0];
    assert_eq!((&prompt["name"], &prompt["description"]), (&json!("wasix-router__greet"), &json!("Greets.")));
    assert!(prompt["arguments"].as_array().is_none_or(Vec::is_empty), "the dialect cannot pass any: {prompt}");
    let greeted = client.request("prompts/get", json!({"name": "wasix-router__greet"}));
    assert_eq!(greeted.result()["messages"][0]["content"]["text"], "Hello!");
}

#[test]
fn what_of_wasix_is_not_run_is_refused() {
    speaks("wasix-router", "wasix:mcp");
    refused("wasix-older", &["another version of `wasix:mcp/router`", "25.6.18"]);
    refused("wasix-partial", &["without a `call-tool` that takes 2 strings"]);
}
