//! A hundred tools with schemas of an ordinary size, which only read and answer at once.

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    generate_all,
    inline: "package guests:toolbox; world toolbox {
        export portcullis:plugin/tools@0.1.0;
    }",
});

use exports::portcullis::plugin::tools::{CallContext, Guest as Tools, Tool, ToolError, ToolResult};
use portcullis::plugin::types::{Content, ContentData, Execution, ToolAnnotations};
use serde_json::{Value, json};

const TOOLS: usize = 100;
const VERBS: [&str; 5] = ["list", "read", "count", "compare", "summarise"];
const THINGS: [&str; 20] = [
    "account", "address", "booking", "budget", "contract", "customer", "delivery", "device", "employee", "invoice",
    "issue", "meeting", "message", "offer", "order", "payment", "product", "project", "report", "ticket",
];

struct Toolbox;

impl Tools for Toolbox {
    fn list_tools() -> Vec<Tool> {
        (0..TOOLS).map(tool).collect()
    }

    fn call_tool(_: CallContext, name: String, arguments: String) -> Result<ToolResult, ToolError> {
        let arguments: Value =
            serde_json::from_str(&arguments).map_err(|error| ToolError::Failed(error.to_string()))?;
        let answer =
            json!({ "tool": name, "id": arguments["id"], "length": arguments["query"].as_str().map_or(0, str::len) });
        let text = answer.to_string();
        let content = vec![Content { data: ContentData::Text(text.clone()), annotations: None }];
        Ok(ToolResult { content, structured: Some(text), is_error: false })
    }
}

fn tool(number: usize) -> Tool {
    let (verb, thing) = (VERBS[number % VERBS.len()], THINGS[number / VERBS.len()]);
    let input = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "id": { "type": "integer", "minimum": 0, "description": format!("Number of the {thing}.") },
            "query": { "type": "string", "description": format!("Words that the {thing} must have. Empty: any.") },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many at most." },
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": { "tool": { "type": "string" }, "id": { "type": "integer" }, "length": { "type": "integer" } },
        "required": ["tool", "id", "length"],
    });
    let description = format!(
        "Finds each {thing} that fits, and {verb}s what is known of it. Nothing is changed. The newest come first."
    );
    Tool {
        name: format!("{verb}_{thing}"),
        title: None,
        description,
        input_schema: input.to_string(),
        output_schema: Some(output.to_string()),
        annotations: ToolAnnotations { read_only: Some(true), destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: vec![],
    }
}

export!(Toolbox);
