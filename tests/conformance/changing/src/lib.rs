//! What the three share: the bindings, and a macro that makes a plugin of one tool without arguments.

/// Generated from `wit/v0.1`.
#[allow(missing_docs, reason = "generated; the WIT has the words")]
pub mod bindings {
    wit_bindgen::generate!({
        world: "plugin",
        path: "../../../wit/v0.1",
        pub_export_macro: true,
        default_bindings_module: "changing::bindings",
    });
}

use bindings::portcullis::plugin::types::{
    Content, ContentData, Execution, Tool, ToolAnnotations, ToolError, ToolResult,
};

/// What a tool answers.
pub type Outcome = Result<ToolResult, ToolError>;

/// A tool without arguments.
pub fn tool(name: &str, description: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
        annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: vec![],
    }
}

/// One piece of text.
pub fn said(words: impl Into<String>) -> Outcome {
    let content = Content { data: ContentData::Text(words.into()), annotations: None };
    Ok(ToolResult { content: vec![content], structured: None, is_error: false })
}

/// Stamps a custom section.
#[macro_export]
macro_rules! stamp {
    ($section:literal, $text:literal) => {
        const _: () = {
            #[used]
            #[unsafe(link_section = $section)]
            static STAMP: [u8; $text.len()] = {
                let mut bytes = [0; $text.len()];
                bytes.copy_from_slice($text.as_bytes());
                bytes
            };
        };
    };
}

/// A plugin of one tool: its name, its description, what it does.
#[macro_export]
macro_rules! plugin {
    ($name:literal, $description:literal, $run:expr) => {
        struct Plugin;

        impl $crate::bindings::exports::portcullis::plugin::tools::Guest for Plugin {
            fn list_tools() -> Vec<$crate::bindings::portcullis::plugin::types::Tool> {
                vec![$crate::tool($name, $description)]
            }

            fn call_tool(
                _: $crate::bindings::portcullis::plugin::types::CallContext,
                _: String,
                _: String,
            ) -> $crate::Outcome {
                $run
            }
        }

        $crate::stamp!("portcullis:api", "0.1.0");
        $crate::bindings::export!(Plugin with_types_in $crate::bindings);
    };
}
