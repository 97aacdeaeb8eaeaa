//! A component of `wasmcp:mcp-v20250618@0.1.8`.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20250618.wit",
    inline: r#"
        package acme:strings;
        world strings {
            import wasmcp:mcp-v20250618/server-io@0.1.8;
            export wasmcp:mcp-v20250618/tools@0.1.8;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20250618::tools::Guest;
use wasmcp::mcp_v20250618::mcp::*;
use wasmcp::mcp_v20250618::server_handler::MessageContext;
use wasmcp::mcp_v20250618::server_io::send_message;

struct Strings;

impl Guest for Strings {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        let options = ToolOptions {
            meta: None,
            annotations: None,
            description: Some("Reverses a text.".into()),
            output_schema: None,
            title: Some("Reverse".into()),
        };
        let input_schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#.into();
        let tools = vec![Tool { name: "reverse".into(), input_schema, options: Some(options) }];
        Ok(ListToolsResult { meta: None, next_cursor: None, tools })
    }

    fn call_tool(ctx: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let given: serde_json::Value = serde_json::from_str(&request.arguments.unwrap_or_default()).unwrap_or_default();
        let reversed: String = given["text"].as_str().unwrap_or_default().chars().rev().collect();
        if let Some(stream) = ctx.client_stream {
            let log = LoggingMessageNotification { data: "not JSON".into(), level: LogLevel::Error, logger: None };
            let message = ServerMessage::Notification(ServerNotification::Log(log));
            let _ = send_message(&stream, message, &ctx.frame);
        }
        let text = format!("{reversed} {}", ctx.protocol_version);
        let content = vec![ContentBlock::Text(TextContent { text: TextData::Text(text), options: None })];
        Ok(Some(CallToolResult { meta: None, content, is_error: None, structured_content: None }))
    }
}

export!(Strings);
