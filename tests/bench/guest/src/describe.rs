//! The tools with their schemas. The native server offers the same ones, but for `ask` and `steps`.

use crate::portcullis::plugin::types::{Execution, Tool, ToolAnnotations};

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool("echo", "Says the text again.", r#""text":{"type":"string","maxLength":1048576}"#, r#""text""#),
        tool(
            "fib",
            "The n-th Fibonacci number, by recursion.",
            r#""n":{"type":"integer","minimum":0,"maximum":45}"#,
            r#""n""#,
        ),
        tool("sum", "Takes n steps through a table of 1 MiB.", r#""n":{"type":"integer","minimum":0}"#, r#""n""#),
        tool(
            "chunks",
            "Emits n chunks of the given size.",
            r#""n":{"type":"integer","minimum":0},"bytes":{"type":"integer","minimum":0,"maximum":65536}"#,
            r#""n","bytes""#,
        ),
        tool("ask", "Asks the user about n.", r#""n":{"type":"integer","minimum":0}"#, r#""n""#),
        Tool {
            execution: Execution::TaskOnly,
            ..tool("steps", "Emits n chunks, and asks then.", r#""n":{"type":"integer","minimum":0}"#, r#""n""#)
        },
    ]
}

fn tool(name: &str, description: &str, properties: &str, required: &str) -> Tool {
    Tool {
        name: name.into(),
        title: None,
        description: description.into(),
        input_schema: format!(
            r#"{{"type":"object","properties":{{{properties}}},"required":[{required}],"additionalProperties":false}}"#
        ),
        output_schema: None,
        annotations: ToolAnnotations {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        },
        execution: Execution::Inline,
        icons: vec![],
    }
}
