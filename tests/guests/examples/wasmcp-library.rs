//! A component of `wasmcp:mcp-v20251125` with resources, templates, prompts and completions, some of them as streams.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:library;
        world library {
            export wasmcp:mcp-v20251125/resources@0.1.1;
            export wasmcp:mcp-v20251125/prompts@0.1.1;
            export wasmcp:mcp-v20251125/completions@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::{completions, prompts, resources};
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;

struct Library;

impl resources::Guest for Library {
    fn list_resources(_: MessageContext, _: ListResourcesRequest) -> Result<ListResourcesResult, ErrorCode> {
        let options = ResourceOptions {
            size: Some(5),
            title: Some("A book".into()),
            description: None,
            mime_type: Some("text/plain".into()),
            annotations: None,
            meta: None,
            icons: None,
        };
        let book = McpResource { uri: "library:book".into(), name: "book".into(), options: Some(options) };
        let other = |name: &str| McpResource { uri: format!("library:{name}"), name: name.into(), options: None };
        let resources = [book].into_iter().chain(["bytes", "file", "lost", "broken"].map(other)).collect();
        Ok(ListResourcesResult { meta: None, next_cursor: None, resources })
    }

    fn read_resource(_: MessageContext, request: ReadResourceRequest) -> Result<Option<ReadResourceResult>, ErrorCode> {
        let options = |mime_type: &str| Some(EmbeddedResourceOptions { mime_type: Some(mime_type.into()), meta: None });
        let uri = request.uri.clone();
        let text = |text| {
            ResourceContents::Text(TextResourceContents { uri: uri.clone(), text, options: options("text/plain") })
        };
        let contents = match request.uri.trim_start_matches("library:") {
            "book" => vec![text(TextData::Text("words".into()))],
            "bytes" => vec![ResourceContents::Blob(BlobResourceContents {
                uri: request.uri.clone(),
                blob: BlobData::Blob(vec![0, 255]),
                options: options("application/octet-stream"),
            })],
            "file" => match open("inside.txt") {
                Some(stream) => vec![text(TextData::TextStream(stream))],
                None => vec![text(TextData::Text("no file is granted".into()))],
            },
            "broken" => return Err(ErrorCode::InternalError(error(-32_603, "the shelf is broken"))),
            "lost" => return Err(ErrorCode::Mcp(error(-32_002, "lost"))),
            other if other.starts_with("shelf/") => vec![text(TextData::Text(format!("of {other}")))],
            _ => return Ok(None),
        };
        Ok(Some(ReadResourceResult { meta: None, contents }))
    }

    fn list_resource_templates(
        _: MessageContext,
        _: ListResourceTemplatesRequest,
    ) -> Result<ListResourceTemplatesResult, ErrorCode> {
        let template =
            ResourceTemplate { uri_template: "library:shelf/{number}".into(), name: "shelf".into(), options: None };
        Ok(ListResourceTemplatesResult { meta: None, next_cursor: None, resource_templates: vec![template] })
    }
}

impl prompts::Guest for Library {
    fn list_prompts(_: MessageContext, _: ListPromptsRequest) -> Result<ListPromptsResult, ErrorCode> {
        let argument = PromptArgument {
            name: "book".into(),
            description: Some("Which".into()),
            required: Some(true),
            title: None,
        };
        let options = PromptOptions {
            meta: None,
            arguments: Some(vec![argument]),
            description: Some("Asks about a book.".into()),
            title: None,
            icons: None,
        };
        let prompts = vec![Prompt { name: "ask".into(), options: Some(options) }];
        Ok(ListPromptsResult { meta: None, next_cursor: None, prompts })
    }

    fn get_prompt(_: MessageContext, request: GetPromptRequest) -> Result<Option<GetPromptResult>, ErrorCode> {
        let message = |role, text: String| PromptMessage {
            content: ContentBlock::Text(TextContent { text: TextData::Text(text), options: None }),
            role,
        };
        let given = request.arguments.unwrap_or_default();
        let messages = vec![message(Role::User, given), message(Role::Assistant, "It is good.".into())];
        Ok(Some(GetPromptResult { meta: None, description: Some("About a book".into()), messages }))
    }
}

impl completions::Guest for Library {
    fn complete(_: MessageContext, request: CompleteRequest) -> Result<Option<CompleteResult>, ErrorCode> {
        let of = match request.ref_ {
            CompletionReference::Prompt(prompt) => prompt.name,
            CompletionReference::ResourceTemplate(template) => template,
        };
        let context = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let values = vec![format!("{}{} of {of} {context}", request.argument.name, request.argument.value)];
        Ok(Some(CompleteResult { meta: None, has_more: Some(true), total: Some(7), values }))
    }
}

fn error(code: i64, message: &str) -> Error {
    Error { code, message: message.into(), data: None }
}

/// A file of the first granted folder, as a stream.
fn open(name: &str) -> Option<wasi::io::streams::InputStream> {
    use wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
    let folder = guests::raw::granted()?;
    let file = folder.open_at(PathFlags::empty(), name, OpenFlags::empty(), DescriptorFlags::READ).ok()?;
    let stream = file.read_via_stream(0).ok()?;
    // The same resource, in the bindings of another crate.
    Some(unsafe { wasi::io::streams::InputStream::from_handle(stream.take_handle()) })
}

export!(Library);
