//! Offers more of everything than fits on one page.

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    generate_all,
    inline: "package guests:many; world many {
        export portcullis:plugin/tools@0.1.0;
        export portcullis:plugin/resources@0.1.0;
        export portcullis:plugin/prompts@0.1.0;
    }",
});

use exports::portcullis::plugin::prompts::{Guest as Prompts, Prompt, PromptResult};
use exports::portcullis::plugin::resources::{Guest as Resources, ReadError, ResourceInfo, ResourceTemplate};
use exports::portcullis::plugin::tools::{CallContext, Guest as Tools, Tool, ToolError, ToolResult};
use portcullis::plugin::types::{EmbeddedResource, Execution, ToolAnnotations};

struct Many;

impl Tools for Many {
    fn list_tools() -> Vec<Tool> {
        let tool = |n| Tool {
            name: format!("tool{n:03}"),
            title: None,
            description: "One of many.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
            execution: Execution::Inline,
            icons: vec![],
        };
        // In no order that a client should see.
        (0..110).rev().map(tool).collect()
    }

    fn call_tool(_: CallContext, _: String, _: String) -> Result<ToolResult, ToolError> {
        Err(ToolError::Cancelled)
    }
}

impl Resources for Many {
    fn list_resources() -> Vec<ResourceInfo> {
        let info = |n| ResourceInfo {
            uri: format!("many://{n:03}"),
            name: "one".to_owned(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: vec![],
        };
        (0..250).rev().map(info).collect()
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        let template = |n| ResourceTemplate {
            uri_template: format!("many://{n:03}/{{id}}"),
            name: "one".to_owned(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: vec![],
        };
        (0..60).rev().map(template).collect()
    }

    fn read_resource(_: CallContext, _: String) -> Result<Vec<EmbeddedResource>, ReadError> {
        Err(ReadError::NotFound)
    }
}

impl Prompts for Many {
    fn list_prompts() -> Vec<Prompt> {
        let name = |n| format!("prompt{n:03}");
        let prompt = |n| Prompt { name: name(n), title: None, description: None, arguments: vec![], icons: vec![] };
        (0..120).rev().map(prompt).collect()
    }

    fn get_prompt(_: CallContext, _: String, _: Vec<(String, String)>) -> Result<PromptResult, ToolError> {
        Err(ToolError::Cancelled)
    }
}

export!(Many);
