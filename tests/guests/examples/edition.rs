//! Comes in editions: the suite rewrites the letters below in the built component. Its tool waits for a file, if one is
//! named, saying so in its log, and says which edition it is.

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    generate_all,
    inline: "package guests:edition; world edition {
        export portcullis:plugin/tools@0.1.0;
        export portcullis:plugin/resources@0.1.0;
        export portcullis:plugin/prompts@0.1.0;
    }",
});

use exports::portcullis::plugin::prompts::{Guest as Prompts, Prompt, PromptResult};
use exports::portcullis::plugin::resources::{Guest as Resources, ReadError, ResourceInfo, ResourceTemplate};
use exports::portcullis::plugin::tools::{CallContext, Guest as Tools, Tool, ToolError, ToolResult};
use portcullis::plugin::types::{Content, ContentData, EmbeddedResource, Execution, ResourceBody, ToolAnnotations};

guests::manifest!(r#"{"name":"edition","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);

/// The whole, the tool, the prompt, the resource.
static EDITIONS: &str = "edition=A tool=A prompt=A resource=A";

fn edition(at: usize) -> String {
    std::hint::black_box(EDITIONS).split(' ').nth(at).unwrap_or_default().to_owned()
}

struct Edition;

impl Tools for Edition {
    fn list_tools() -> Vec<Tool> {
        vec![Tool {
            name: "run".to_owned(),
            title: None,
            description: edition(1),
            input_schema: r#"{"type":"object","properties":{"path":{"type":"string"}}}"#.to_owned(),
            output_schema: None,
            annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
            execution: Execution::Inline,
            icons: vec![],
        }]
    }

    fn call_tool(_: CallContext, _: String, arguments: String) -> Result<ToolResult, ToolError> {
        if let Some(path) = guests::Args::parse(&arguments).path {
            eprintln!("waiting for {path}");
            while !std::path::Path::new(&path).exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        let content = Content { data: ContentData::Text(edition(0)), annotations: None };
        Ok(ToolResult { content: vec![content], structured: None, is_error: false })
    }
}

impl Resources for Edition {
    fn list_resources() -> Vec<ResourceInfo> {
        let info = ResourceInfo {
            uri: "edition://text".to_owned(),
            name: "text".to_owned(),
            title: None,
            description: Some(edition(3)),
            mime_type: None,
            size: None,
            annotations: None,
            icons: vec![],
        };
        vec![info]
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![]
    }

    fn read_resource(_: CallContext, uri: String) -> Result<Vec<EmbeddedResource>, ReadError> {
        Ok(vec![EmbeddedResource { uri, mime_type: None, body: ResourceBody::Text(edition(0)) }])
    }
}

impl Prompts for Edition {
    fn list_prompts() -> Vec<Prompt> {
        let description = Some(edition(2));
        vec![Prompt { name: "ask".to_owned(), title: None, description, arguments: vec![], icons: vec![] }]
    }

    fn get_prompt(_: CallContext, _: String, _: Vec<(String, String)>) -> Result<PromptResult, ToolError> {
        Err(ToolError::Cancelled)
    }
}

export!(Edition);
