//! A good citizen that offers all there is, and answers some of what it is asked badly.

wit_bindgen::generate!({ world: "provider", path: "../../wit/v0.1" });

use exports::portcullis::plugin::completions::{Completion, Guest as Completions, Reference};
use exports::portcullis::plugin::prompts::{
    Guest as Prompts, Prompt, PromptArgument, PromptMessage, PromptResult, ToolError,
};
use exports::portcullis::plugin::reconcile::{EffectInDoubt, Guest as Reconcile, Verdict};
use exports::portcullis::plugin::resources::{
    EmbeddedResource, Guest as Resources, ReadError, ResourceInfo, ResourceTemplate,
};
use exports::portcullis::plugin::tools::{CallContext, Guest as Tools, Tool, ToolResult};
use portcullis::plugin::client::{self, Form, FormAnswer};
use portcullis::plugin::progress;
use portcullis::plugin::types::{
    Blob, Content, ContentAnnotations, ContentData, Execution, Icon, ResourceBody, Role, ToolAnnotations,
};

guests::manifest!(r#"{"name":"provider","version":"0.1.0","description":"","requests":{"client":{"form":true}}}"#);

struct Provider;

/// Asks the user for a name, in the middle of whatever it is doing.
fn asked() -> Result<String, ToolError> {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#.to_owned();
    match client::elicit_form(Some("who"), &Form { message: "Who?".to_owned(), schema }) {
        Ok(FormAnswer::Accepted(json)) => Ok(json),
        Ok(FormAnswer::Declined | FormAnswer::Cancelled) => Err(ToolError::Cancelled),
        Err(client::ClientError::Unsupported(what)) => Err(ToolError::Unsupported(what)),
        Err(error) => Err(ToolError::Failed(format!("{error:?}"))),
    }
}

fn text(words: impl Into<String>) -> Content {
    Content { data: ContentData::Text(words.into()), annotations: None }
}

fn listed(uri: &str, mime_type: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.to_owned(),
        name: uri.trim_start_matches("test://").to_owned(),
        title: Some("A title".to_owned()),
        description: Some("A description.".to_owned()),
        mime_type: Some(mime_type.to_owned()),
        size: Some(5),
        annotations: Some(ContentAnnotations {
            audience: vec![Role::Assistant],
            priority: Some(0.5),
            last_modified: Some("2026-01-02T03:04:05Z".to_owned()),
        }),
        icons: vec![Icon { src: "data:,".to_owned(), mime_type: None, sizes: vec!["any".to_owned()] }],
    }
}

fn piece(uri: &str, mime_type: &str, body: ResourceBody) -> EmbeddedResource {
    EmbeddedResource { uri: uri.to_owned(), mime_type: Some(mime_type.to_owned()), body }
}

fn argument(name: &str, required: bool) -> PromptArgument {
    PromptArgument { name: name.to_owned(), title: None, description: Some(format!("The {name}.")), required }
}

fn prompt(name: &str, arguments: Vec<PromptArgument>) -> Prompt {
    Prompt { name: name.to_owned(), title: None, description: Some("A prompt.".to_owned()), arguments, icons: vec![] }
}

impl Tools for Provider {
    fn list_tools() -> Vec<Tool> {
        vec![Tool {
            name: "run".to_owned(),
            title: None,
            description: "Answers.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
            execution: Execution::Inline,
            icons: vec![],
        }]
    }

    fn call_tool(_: CallContext, _: String, _: String) -> Result<ToolResult, ToolError> {
        Ok(ToolResult { content: vec![text("done")], structured: None, is_error: false })
    }
}

impl Resources for Provider {
    fn list_resources() -> Vec<ResourceInfo> {
        let words = ["asks", "text", "spin", "nothing", "broken", "gone", "foreign", "caller"];
        let mut all: Vec<_> = words.iter().map(|word| listed(&format!("test://{word}"), "text/plain")).collect();
        all.push(listed("test://bytes", "image/png"));
        all
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://item/{id}/of/{folder}".to_owned(),
            name: "item".to_owned(),
            title: None,
            description: None,
            mime_type: Some("text/plain".to_owned()),
            annotations: None,
            icons: vec![],
        }]
    }

    fn read_resource(context: CallContext, uri: String) -> Result<Vec<EmbeddedResource>, ReadError> {
        let words = |words: String| Ok(vec![piece(&uri, "text/plain", ResourceBody::Text(words))]);
        match uri.trim_start_matches("test://") {
            "text" => {
                progress::report(1.0, Some(2.0), Some("reading"));
                words("hello".to_owned())
            }
            "bytes" => Ok(vec![piece(&uri, "image/png", ResourceBody::Blob(vec![1, 2, 3]))]),
            "asks" => words(asked().map_err(ReadError::Failed)?),
            "spin" => loop {
                std::hint::black_box(&uri);
            },
            "nothing" => Ok(vec![]),
            "broken" => Err(ReadError::Failed(ToolError::Failed("the disk is full".to_owned()))),
            "foreign" => Ok(vec![piece("other://text", "text/plain", ResourceBody::Text("not mine".to_owned()))]),
            "caller" => words(format!("{} {:?}", context.principal, context.correlation_id)),
            item if item.starts_with("item/") && !item.contains("missing") => words(format!("this is {item}")),
            _ => Err(ReadError::NotFound),
        }
    }
}

impl Prompts for Provider {
    fn list_prompts() -> Vec<Prompt> {
        let greet = prompt("greet", vec![argument("name", true), argument("style", false)]);
        vec![greet, prompt("picture", vec![]), prompt("fails", vec![]), prompt("empty", vec![]), prompt("asks", vec![])]
    }

    fn get_prompt(_: CallContext, name: String, arguments: Vec<(String, String)>) -> Result<PromptResult, ToolError> {
        let message = |role, content| PromptMessage { role, content };
        let messages = match name.as_str() {
            "greet" => vec![
                message(Role::User, text(format!("Greet {arguments:?}"))),
                message(Role::Assistant, text("Hello!")),
            ],
            "picture" => {
                let image = Blob { mime_type: "image/png".to_owned(), data: vec![1, 2, 3] };
                let image = Content { data: ContentData::Image(image), annotations: None };
                let resource = piece("test://text", "text/plain", ResourceBody::Text("hello".to_owned()));
                let resource = Content { data: ContentData::Resource(resource), annotations: None };
                vec![message(Role::User, image), message(Role::User, resource)]
            }
            "asks" => vec![message(Role::User, text(asked()?))],
            "empty" => vec![],
            _ => return Err(ToolError::InvalidArguments("not today".to_owned())),
        };
        Ok(PromptResult { description: Some("Filled in.".to_owned()), messages })
    }
}

impl Completions for Provider {
    fn complete(
        _: CallContext,
        reference: Reference,
        argument: String,
        value: String,
        context: Vec<(String, String)>,
    ) -> Result<Completion, ToolError> {
        let values = match reference {
            Reference::Prompt(prompt) => ["formal", "friendly", "short"]
                .iter()
                .filter(|word| word.starts_with(&value))
                .map(|word| format!("{prompt}/{argument}: {word} {context:?}"))
                .collect(),
            Reference::ResourceTemplate(_) if argument == "folder" => vec!["\u{1b}[2J".to_owned()],
            Reference::ResourceTemplate(_) => (0..150).map(|n| format!("{value}{n}")).collect(),
        };
        Ok(Completion { values, total: None, has_more: false })
    }
}

impl Reconcile for Provider {
    fn reconcile(_: CallContext, _: String, _: String, _: EffectInDoubt) -> Verdict {
        Verdict::Unknown
    }
}

export!(Provider);
