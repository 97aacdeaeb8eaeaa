//! A component of `wasmcp:mcp-v20251125` with tools: results of all kinds, errors, progress and log messages.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:calculator;
        world calculator {
            import wasmcp:mcp-v20251125/server-io@0.1.1;
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use serde_json::{Value, json};
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;
use wasmcp::mcp_v20251125::server_io::{flush_buffer, send_message};

struct Calculator;

impl Guest for Calculator {
    fn list_tools(_: MessageContext, request: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        // Two pages.
        let numbers =
            r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#;
        let (tools, next_cursor) = match request.cursor.as_deref() {
            None => (
                vec![
                    tool("add", numbers),
                    tool("factorial", r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#),
                ],
                Some("2"),
            ),
            Some(_) => (
                ["fail", "refuse", "gone", "wrong", "pictures", "context"]
                    .map(|name| tool(name, r#"{"type":"object"}"#))
                    .into(),
                None,
            ),
        };
        Ok(ListToolsResult { meta: None, next_cursor: next_cursor.map(str::to_owned), tools })
    }

    fn call_tool(ctx: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let given: Value = serde_json::from_str(&request.arguments.unwrap_or_default()).unwrap_or_default();
        let error = |message: &str| Error { code: -32_602, message: message.into(), data: None };
        match request.name.as_str() {
            "add" => {
                let sum = given["a"].as_f64().unwrap_or_default() + given["b"].as_f64().unwrap_or_default();
                let structured_content = Some(json!({ "sum": sum }).to_string());
                Ok(Some(CallToolResult { structured_content, ..result(vec![text(&sum.to_string())]) }))
            }
            "factorial" => {
                let n = given["n"].as_u64().unwrap_or(3);
                let stream = ctx.client_stream.ok_or_else(|| ErrorCode::InternalError(error("no stream")))?;
                for step in 1..=n {
                    let progress = ProgressNotification {
                        progress_token: ProgressToken::Integer(1),
                        progress: step as f64,
                        total: Some(n as f64),
                        message: Some(format!("step {step}")),
                    };
                    let log = LoggingMessageNotification {
                        data: json!(format!("multiplied by {step}")).to_string(),
                        level: LogLevel::Warning,
                        logger: Some("factorial".into()),
                    };
                    for notification in [ServerNotification::Progress(progress), ServerNotification::Log(log)] {
                        send_message(&stream, ServerMessage::Notification(notification), &ctx.frame)
                            .map_err(|failed| ErrorCode::InternalError(error(&format!("{failed:?}"))))?;
                    }
                }
                flush_buffer(&stream).map_err(|failed| ErrorCode::InternalError(error(&format!("{failed:?}"))))?;
                Ok(Some(result(vec![text(&(1..=n).product::<u64>().to_string())])))
            }
            "fail" => Ok(Some(CallToolResult { is_error: Some(true), ..result(vec![text("it was not to be")]) })),
            "refuse" => Err(ErrorCode::InvalidParams(error("not these"))),
            "wrong" => Ok(Some(CallToolResult { structured_content: Some("{".into()), ..result(vec![]) })),
            "pictures" => {
                let blob = |mime_type: &str| Blob {
                    data: BlobData::Blob(vec![1, 2, 255]),
                    mime_type: mime_type.into(),
                    options: Some(ContentOptions {
                        annotations: Some(Annotations {
                            audience: Some(vec![Role::User, Role::User]),
                            last_modified: None,
                            priority: Some(0.5),
                        }),
                        meta: None,
                    }),
                };
                let link = ResourceLinkContent { uri: "acme:1".into(), name: "one".into(), options: None };
                let embedded =
                    TextResourceContents { uri: "acme:2".into(), text: TextData::Text("two".into()), options: None };
                Ok(Some(result(vec![
                    ContentBlock::Image(blob("image/png")),
                    ContentBlock::Audio(blob("audio/wav")),
                    ContentBlock::ResourceLink(link),
                    ContentBlock::EmbeddedResource(EmbeddedResourceContent {
                        resource: ResourceContents::Text(embedded),
                        options: None,
                    }),
                ])))
            }
            "context" => {
                let frame = (ctx.frame.prefix.len(), ctx.frame.suffix);
                let (who, session) = (ctx.identity.is_some(), ctx.session.is_some());
                let said = format!("{} {frame:?} {who} {session} {}", ctx.protocol_version, ctx.http_context.is_some());
                Ok(Some(result(vec![text(&said)])))
            }
            // "gone" is listed, and then it is not there.
            _ => Ok(None),
        }
    }
}

fn tool(name: &str, input_schema: &str) -> Tool {
    let is_add = name == "add";
    let annotations = ToolAnnotations {
        title: Some("Addition".into()),
        read_only_hint: Some(true),
        destructive_hint: None,
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    };
    let options = ToolOptions {
        meta: None,
        annotations: Some(annotations),
        description: Some("Adds two numbers.".into()),
        output_schema: Some(r#"{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}"#.into()),
        title: None,
        icons: Some(vec![Icon {
            src: "https://example.com/add.png".into(),
            mime_type: Some("image/png".into()),
            sizes: Some(vec!["48x48".into()]),
            theme: Some(IconTheme::Dark),
        }]),
    };
    Tool { name: name.into(), input_schema: input_schema.into(), options: is_add.then_some(options) }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent { text: TextData::Text(text.into()), options: None })
}

fn result(content: Vec<ContentBlock>) -> CallToolResult {
    CallToolResult { meta: None, content, is_error: None, structured_content: None }
}

export!(Calculator);
