//! Requests to compare: good ones, and ones with a single change.

use super::{Sent, TOOL, sent, sent_by};
use serde_json::{Value, json};

/// Calls with every kind of end.
pub(super) fn calls() -> Vec<Sent> {
    vec![
        sent(TOOL, json!({"path": "Ada"})),
        sent(TOOL, json!({})),
        sent(TOOL, json!({"path": 7})),
        sent("nobody__knows", json!({})),
        sent("ask__run", json!({"path": "form"})),
        sent("chunk-kinds__run", json!({})),
        sent("unreachable__run", json!({})),
        sent("escape-dotdot__run", json!({"path": "x"})),
        sent("header-param__run", json!({"other": "x"})),
        sent("header-param__run", json!({"region": "x"})),
        sent("large__run", json!({"path": "text"})),
        sent("large__run", json!({"path": "structure"})),
    ]
}

/// Requests with one change each: fields more, fewer, twice, of another type; and every short way to damage the text.
pub(super) fn changed() -> Vec<Sent> {
    let plain = sent(TOOL, json!({"path": "Ada"}));
    let with = |pointer: &str, key: &str, value: Value| {
        let mut body: Value = serde_json::from_str(&plain.body).unwrap();
        body.pointer_mut(pointer).unwrap()[key] = value;
        Sent { name: TOOL.into(), body: body.to_string() }
    };
    let mut all = Vec::new();
    let values = [json!(null), json!(0), json!(-1.5), json!("x"), json!([]), json!({}), json!({"a": [1]}), json!(true)];
    let fields = [
        ("", "id"),
        ("", "jsonrpc"),
        ("", "method"),
        ("", "params"),
        ("", "more"),
        ("/params", "name"),
        ("/params", "arguments"),
        ("/params", "_meta"),
        ("/params", "task"),
        ("/params", "requestState"),
        ("/params", "inputResponses"),
        ("/params/_meta", "io.modelcontextprotocol/protocolVersion"),
        ("/params/_meta", "io.modelcontextprotocol/clientInfo"),
        ("/params/_meta", "io.modelcontextprotocol/clientCapabilities"),
        ("/params/_meta", "dev.portcullis/correlationId"),
        ("/params/_meta", "dev.portcullis/chain"),
        ("/params/_meta", "traceparent"),
        ("/params/_meta", "more"),
    ];
    for (pointer, key) in fields {
        all.extend(values.iter().map(|value| with(pointer, key, value.clone())));
    }
    all.push(with("/params/_meta", "dev.portcullis/correlationId", json!("c".repeat(257))));
    all.push(with("/params/_meta", "traceparent", json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")));
    let text = |body: String| Sent { name: TOOL.into(), body };
    for key in ["id", "method", "params", "name", "arguments", "_meta", "path"] {
        let twice = plain.body.replacen(&format!("\"{key}\""), &format!("\"{key}\":\"x\",\"{key}\""), 1);
        all.push(text(twice));
    }
    for at in 0..plain.body.len() {
        let (before, after) = plain.body.split_at(at);
        all.push(text(format!("{before}{}", &after[1..])));
        for inserted in ["\"", "é"] {
            all.push(text(format!("{before}{inserted}{after}")));
        }
    }
    // Texts and numbers that no parser takes, where nobody reads them.
    for unreadable in [r#""\ud800""#, "1e999", r#"{"\ud800":1}"#] {
        all.push(text(plain.body.replace(r#""name":"suite""#, &format!(r#""name":{unreadable}"#))));
    }
    all.push(Sent { name: "=?base64?ZWNob19fcnVu?=".into(), body: plain.body.clone() });
    all.push(Sent { name: "other".into(), body: plain.body });
    all
}

/// Declarations of capabilities, as text: what clients send, and every way to get it wrong.
const DECLARED: [&str; 46] = [
    "{}",
    r#"{"roots":{}}"#,
    r#"{"roots":{"listChanged":true}}"#,
    r#"{"roots":{"listChanged":null,"more":[1]}}"#,
    r#"{"roots":{"listChanged":1}}"#,
    r#"{"roots":null}"#,
    r#"{"roots":[]}"#,
    r#"{"roots":[true]}"#,
    r#"{"roots":[true,1]}"#,
    r#"{"roots":true}"#,
    r#"{"elicitation":{}}"#,
    r#"{"elicitation":{"form":{}}}"#,
    r#"{"elicitation":{"url":{}}}"#,
    r#"{"elicitation":{"form":{"schemaValidation":true,"more":1},"url":{"more":{}}}}"#,
    r#"{"elicitation":{"form":{"schemaValidation":1}}}"#,
    r#"{"elicitation":{"form":null,"url":null}}"#,
    r#"{"elicitation":{"form":[],"url":[]}}"#,
    r#"{"elicitation":{"form":[null],"url":[]}}"#,
    r#"{"elicitation":{"url":true}}"#,
    r#"{"elicitation":{"later":{}}}"#,
    r#"{"elicitation":null}"#,
    r#"{"elicitation":[{},null]}"#,
    r#"{"elicitation":"form"}"#,
    r#"{"elicitation":{},"elicitation":7}"#,
    r#"{"elicitation":7,"elicitation":{}}"#,
    r#"{"elicitation":{"form":{}},"elicitation":{"url":{}}}"#,
    r#"{"elicitation":{"url":{},"url":null}}"#,
    r#"{"sampling":{}}"#,
    r#"{"sampling":{"tools":{},"context":{}}}"#,
    r#"{"sampling":{"tools":{"a":{"b":[]}},"more":1}}"#,
    r#"{"sampling":{"tools":[]}}"#,
    r#"{"sampling":{"tools":true}}"#,
    r#"{"sampling":{"tools":null}}"#,
    r#"{"sampling":[null,null]}"#,
    r#"{"elicitation":{},"sampling":{"tools":{}},"roots":{"listChanged":true},"tasks":{"list":{},"requests":{"a":1}}}"#,
    r#"{"elicitation":{},"tasks":{"list":{}},"tasks":[],"more":null}"#,
    r#"{"elicitation":{},"experimental":{},"extensions":{}}"#,
    r#"{"elicitation":{},"experimental":{"a":{"b":1,"b":2}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}"#,
    r#"{"elicitation":{},"experimental":{"a":1}}"#,
    r#"{"elicitation":{},"extensions":null,"experimental":null}"#,
    r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
    r#"{"elicitation":{},"extensions":{"dev.portcullis/partial-results":{}}}"#,
    r#"{"elicitation":{},"extensions":{"dev.portcullis/client-tools":{"allowServerCalls":true,"tools":[{"name":"mail.send","inputSchema":{}}]}}}"#,
    r#"{"elicitation":{},"experimental":{"dev.portcullis/client-tools":{"allowServerCalls":true,"tools":[{"name":"mail.send","inputSchema":{}}]}}}"#,
    r#"{"elicitation":{},"extensions":{"dev.portcullis/client-tools":7},"experimental":{"dev.portcullis/client-tools":7}}"#,
    r#"[null,null,{},{},{}]"#,
];

/// Calls that need each of the capabilities, by clients that declare them well, badly or not at all.
pub(super) fn declared() -> Vec<Sent> {
    let mail = json!([{"call": {"name": "mail.send"}}]).to_string();
    let called = ["supported", "form", "url", "sample", "tools", "roots"].map(|path| ("ask__run", path));
    let called = called.into_iter().chain([(TOOL, "Ada"), ("agent-calls__run", mail.as_str())]);
    let of = |(tool, path): (&str, &str)| DECLARED.map(|declared| sent_by(tool, json!({"path": path}), declared));
    let mut all: Vec<_> = called.flat_map(of).collect();
    for broken in ["null", "7", "\"x\"", "[]", "{", r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#, r#"{"roots":{"a":1e999}}"#] {
        all.push(sent_by("ask__run", json!({"path": "supported"}), broken));
    }
    all
}
