//! What the attribute makes of functions: schemas, manifest, results, errors.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use portcullis_guest::testing::{self, Host};
use portcullis_guest::{ContentData, Execution, Tool, ToolError};
use serde_json::{Value, json};

mod sample;

use sample::plugin::{self, PLUGIN};

fn input(name: &str) -> Value {
    serde_json::from_str(&testing::tool(&PLUGIN, name).input_schema).unwrap()
}

fn output(name: &str) -> Option<Value> {
    testing::tool(&PLUGIN, name).output_schema.map(|schema| serde_json::from_str(&schema).unwrap())
}

fn point_schema() -> Value {
    let integer = json!({ "type": "integer" });
    json!({ "type": "object", "properties": { "x": integer, "y": integer }, "required": ["x", "y"] })
}

#[test]
fn manifest() {
    let manifest: Value = serde_json::from_str(PLUGIN.manifest()).unwrap();
    assert_eq!(
        manifest,
        json!({
            "name": "sample", "version": "1.2.3", "description": "A \"sample\".",
            "survive": "power-loss",
            "requests": { "filesystem": "read", "agent-tools": ["notes.add", "web.*"] },
        })
    );
}

#[test]
fn api_version_is_the_one_of_the_wit() {
    let world = include_str!("../../wit/world.wit");
    assert!(world.contains(&format!("package portcullis:plugin@{};", portcullis_guest::API_VERSION)));
    assert_eq!(portcullis_guest::__private::API, portcullis_guest::API_VERSION.as_bytes());
}

#[test]
fn descriptions_and_hints() {
    let Tool { title, description, annotations, execution, .. } = testing::tool(&PLUGIN, "all-of-it");
    assert_eq!(title.as_deref(), Some("All of it"));
    assert_eq!(description, "First line\nand second.\n\nSecond paragraph.");
    assert_eq!(execution, Execution::MayRunLong);
    assert_eq!((annotations.read_only, annotations.destructive), (Some(true), Some(false)));
    assert_eq!((annotations.idempotent, annotations.open_world), (None, Some(false)));
}

#[test]
fn input_schema() {
    let mut at = point_schema();
    at["description"] = "Where.".into();
    assert_eq!(
        input("all-of-it"),
        json!({
            "type": "object",
            "properties": {
                "at": at,
                "names": { "type": "array", "items": { "type": "string" }, "description": "Many of them." },
                "depth": { "type": ["integer", "null"], "minimum": 0 },
                "times": { "type": "integer", "minimum": 1, "default": 5 },
                "type": { "type": "string", "default": "" },
            },
            "required": ["at", "names"],
            "additionalProperties": false,
        })
    );
    assert_eq!(input("nothing"), json!({ "type": "object", "properties": {}, "additionalProperties": false }));
}

#[test]
fn output_schema_only_for_objects() {
    assert_eq!(output("all-of-it"), Some(point_schema()));
    assert_eq!(output("typed_error"), Some(point_schema()));
    assert_eq!(output("alias"), Some(point_schema()));
    let shape = output("shape").unwrap();
    assert_eq!((&shape["type"], shape["oneOf"].as_array().unwrap().len()), (&json!("object"), 2));
    for name in ["nothing", "list", "content", "by_hand", "plain_error"] {
        assert_eq!(output(name), None, "{name}");
    }
}

#[test]
fn arguments_and_structured_results() {
    let arguments = json!({ "at": { "x": 1, "y": 2 }, "names": ["a"], "type": "xyz" });
    let result = testing::call(&PLUGIN, "all-of-it", arguments).unwrap();
    assert_eq!(result.structured.as_deref(), Some(r#"{"x":6,"y":5}"#));
    assert_eq!(result.all_text(), r#"{"x":6,"y":5}"#);
    let shape = testing::call(&PLUGIN, "shape", json!({ "round": true })).unwrap();
    assert_eq!(shape.structured.as_deref(), Some(r#"{"kind":"circle","radius":1}"#));
    let dot = testing::call(&PLUGIN, "shape", json!({ "round": false })).unwrap();
    assert_eq!(dot.structured.as_deref(), Some(r#"{"kind":"dot"}"#));
}

#[test]
fn other_results() {
    let call = |name: &str| testing::call(&PLUGIN, name, json!({})).unwrap();
    assert!(call("nothing").content.is_empty());
    let list = call("list");
    assert_eq!((list.all_text().as_str(), list.structured), (r#"[{"x":1,"y":2}]"#, None));
    let content = call("content").content;
    assert_eq!(content[0].annotations.as_ref().unwrap().priority, Some(0.5));
    assert!(matches!(&content[1].data, ContentData::Image(image) if image.data == [1]));
    assert!(call("by_hand").is_error);
}

#[test]
fn wrong_arguments_and_tools_are_refused() {
    let error = |name: &str, arguments: Value| testing::call(&PLUGIN, name, arguments).unwrap_err().to_string();
    assert!(error("shape", json!({})).starts_with("invalid arguments: missing field `round`"));
    assert!(error("shape", json!({ "round": true, "more": 1 })).contains("unknown field `more`"));
    assert!(error("shape", json!([true])).contains("arguments are a JSON object"));
    assert_eq!(error("none", json!({})), "unsupported: this plugin has no tool named `none`");
}

#[test]
fn errors_keep_their_meaning() {
    let error = |name: &str, arguments: Value| testing::call(&PLUGIN, name, arguments).unwrap_err();
    assert_eq!(error("plain_error", json!({})), ToolError::Failed("plain failure".into()));
    let denied = error("typed_error", json!({ "kind": "denied" }));
    assert!(matches!(&denied, ToolError::Denied(denial) if denial.target == "/x"));
    assert_eq!(denied.to_string(), "denied: filesystem does not allow `/x`. ask");
    assert_eq!(error("typed_error", json!({ "kind": "io" })), ToolError::Failed("disk on fire".into()));
    assert_eq!(error("typed_error", json!({ "kind": "luck" })), ToolError::Failed("no luck".into()));
}

#[test]
fn helpers_stay_plain_functions() {
    let _host = Host::new();
    assert_eq!(plugin::helper(), 7);
    assert_eq!(PLUGIN.list_tools().len(), 9);
}
