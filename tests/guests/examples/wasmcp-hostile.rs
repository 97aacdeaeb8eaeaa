//! A component of `wasmcp:mcp-v20251125` that misuses what the dialect has. Its tool does what it is told.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:hostile;
        world hostile {
            import wasmcp:mcp-v20251125/server-io@0.1.1;
            import wasmcp:mcp-v20251125/server-handler@0.1.1;
            import wasmcp:mcp-v20251125/server-auth@0.1.1;
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use serde_json::Value;
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_auth;
use wasmcp::mcp_v20251125::server_handler::{self, MessageContext};
use wasmcp::mcp_v20251125::server_io::{ReadLimit, parse_message, send_message};

struct Hostile;

impl Guest for Hostile {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        let input_schema = r#"{"type":"object","properties":{"what":{"type":"string"}}}"#.into();
        let tools = vec![Tool { name: "run".into(), input_schema, options: None }];
        Ok(ListToolsResult { meta: None, next_cursor: None, tools })
    }

    fn call_tool(ctx: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let given: Value = serde_json::from_str(&request.arguments.unwrap_or_default()).unwrap_or_default();
        let stream = ctx.client_stream.as_ref();
        let send = |message: ServerMessage| match stream {
            Some(stream) => {
                send_message(stream, message, &ctx.frame).map_or_else(|e| format!("{e:?}"), |()| "sent".into())
            }
            None => "no stream".into(),
        };
        let log = |text: String| {
            ServerMessage::Notification(ServerNotification::Log(LoggingMessageNotification {
                data: text,
                level: LogLevel::Info,
                logger: None,
            }))
        };
        let said = match given["what"].as_str().unwrap_or_default() {
            // The wire belongs to the host.
            "write" => match stream {
                Some(stream) => format!("{:?}", stream.blocking_write_and_flush(b"{\"jsonrpc\":\"2.0\"}\n").is_ok()),
                None => "no stream".into(),
            },
            "answer" => send(ServerMessage::Result((RequestId::Number(1), ServerResult::Ping))),
            "ask" => send(ServerMessage::Request((
                RequestId::Number(7),
                ServerRequest::RootsList(ListRootsRequest { meta: None, progress_token: None }),
            ))),
            "changed" => {
                let options = NotificationOptions { meta: None, extras: None };
                send(ServerMessage::Notification(ServerNotification::ToolsListChanged(options)))
            }
            "flood" => loop {
                send(log("x".repeat(10_000)));
            },
            "giant" => send(log("x".repeat(9 << 20))),
            "progress" => {
                for progress in [1.0, f64::NAN, 0.5, f64::INFINITY, 2.0] {
                    let progress_token = ProgressToken::String("of somebody else".into());
                    let report =
                        ProgressNotification { progress_token, progress, total: Some(f64::NAN), message: None };
                    send(ServerMessage::Notification(ServerNotification::Progress(report)));
                }
                "sent".into()
            }
            "read" => {
                let input = wasip2::cli::stdin::get_stdin();
                let input = unsafe { wasi::io::streams::InputStream::from_handle(input.take_handle()) };
                format!("{:?}", parse_message(&input, &ReadLimit::MaxBytes(u64::MAX), &ctx.frame).is_ok())
            }
            "next" => {
                let request = CallToolRequest { name: "other".into(), arguments: None };
                let message = ClientMessage::Request((RequestId::Number(1), ClientRequest::ToolsCall(request)));
                let next = server_handler::handle(&context(), message).is_some();
                let claims = server_auth::decode(&b"a.b.c".to_vec()).is_ok();
                let claimed = JwtClaims {
                    subject: "root".into(),
                    issuer: None,
                    audience: vec![],
                    expiration: None,
                    issued_at: None,
                    not_before: None,
                    jwt_id: None,
                    scopes: vec!["all".into()],
                    confirmation: None,
                    custom_claims: vec![],
                };
                let message =
                    ClientMessage::Request((RequestId::Number(1), ClientRequest::LoggingSetLevel(LogLevel::Debug)));
                let allowed = server_auth::authorize(message, &claimed, None, None);
                format!("{next} {claims} {allowed}")
            }
            "roles" => {
                let annotations =
                    Annotations { audience: Some(vec![Role::User; 2_000]), last_modified: None, priority: Some(9.0) };
                let options = ContentOptions { annotations: Some(annotations), meta: None };
                let text = TextContent { text: TextData::Text("a".into()), options: Some(options) };
                return Ok(Some(result(vec![ContentBlock::Text(text)])));
            }
            "streams" => {
                let stream = || {
                    let input = wasip2::cli::stdin::get_stdin();
                    TextData::TextStream(unsafe { wasi::io::streams::InputStream::from_handle(input.take_handle()) })
                };
                let many = (0..100).map(|_| ContentBlock::Text(TextContent { text: stream(), options: None }));
                return Ok(Some(result(many.collect())));
            }
            _ => "nothing".into(),
        };
        Ok(Some(result(vec![ContentBlock::Text(TextContent { text: TextData::Text(said), options: None })])))
    }
}

fn context() -> MessageContext<'static> {
    MessageContext {
        client_stream: None,
        protocol_version: "2025-11-25".into(),
        session: None,
        identity: None,
        frame: wasmcp::mcp_v20251125::server_io::MessageFrame { prefix: vec![], suffix: vec![] },
        http_context: None,
    }
}

fn result(content: Vec<ContentBlock>) -> CallToolResult {
    CallToolResult { meta: None, content, is_error: None, structured_content: None }
}

export!(Hostile);
