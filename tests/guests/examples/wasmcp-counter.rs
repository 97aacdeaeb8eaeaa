//! A component of `wasmcp:mcp-v20250618@0.1.8` that counts in its session how often it was called, and how often its prompt was got.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20250618.wit",
    inline: r#"
        package acme:counter;
        world counter {
            import wasmcp:mcp-v20250618/server-io@0.1.8;
            import wasmcp:mcp-v20250618/sessions@0.1.8;
            export wasmcp:mcp-v20250618/tools@0.1.8;
            export wasmcp:mcp-v20250618/prompts@0.1.8;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20250618::{prompts, tools};
use wasmcp::keyvalue::store::TypedValue;
use wasmcp::mcp_v20250618::mcp::*;
use wasmcp::mcp_v20250618::server_handler::MessageContext;
use wasmcp::mcp_v20250618::sessions::{Session, SessionError};

struct Counter;

impl tools::Guest for Counter {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        let tool = |name: &str| Tool { name: name.into(), input_schema: r#"{"type":"object"}"#.into(), options: None };
        let tools = vec![tool("count"), tool("ask")];
        Ok(ListToolsResult { meta: None, next_cursor: None, tools })
    }

    fn call_tool(ctx: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let said = match request.name.as_str() {
            "ask" => ask(&ctx).map_err(|error| failed(format!("{error:?}")))?,
            _ => count(&ctx, "calls")?,
        };
        let content = vec![ContentBlock::Text(text(said))];
        Ok(Some(CallToolResult { meta: None, content, is_error: None, structured_content: None }))
    }
}

impl prompts::Guest for Counter {
    fn list_prompts(_: MessageContext, _: ListPromptsRequest) -> Result<ListPromptsResult, ErrorCode> {
        let prompts = vec![Prompt { name: "count".into(), options: None }];
        Ok(ListPromptsResult { meta: None, next_cursor: None, prompts })
    }

    fn get_prompt(ctx: MessageContext, _: GetPromptRequest) -> Result<Option<GetPromptResult>, ErrorCode> {
        let content = ContentBlock::Text(text(count(&ctx, "prompts")?));
        let messages = vec![PromptMessage { role: Role::User, content }];
        Ok(Some(GetPromptResult { meta: None, description: None, messages }))
    }
}

fn text(text: String) -> TextContent {
    TextContent { text: TextData::Text(text), options: None }
}

fn failed(message: String) -> ErrorCode {
    ErrorCode::InternalError(Error { code: -32_603, message, data: None })
}

fn open(ctx: &MessageContext) -> Result<Session, SessionError> {
    let info = ctx.session.as_ref().ok_or(SessionError::NoSuchSession)?;
    Session::open(&info.session_id, &info.store_id)
}

fn ask(ctx: &MessageContext) -> Result<String, SessionError> {
    let session = open(ctx)?;
    let choice = EnumSchema {
        description: None,
        enum_: vec!["r".into(), "b".into()],
        enum_names: Some(vec!["Red".into(), "Blue".into()]),
        title: None,
    };
    let properties = vec![("colour".to_owned(), PrimitiveSchemaDefinition::EnumSchema(choice))];
    let requested_schema = RequestedSchema { properties, required: None };
    let request = ElicitRequest { message: "Which?".into(), requested_schema };
    let stream = ctx.client_stream.as_ref().ok_or(SessionError::NoSuchSession)?;
    let result = session.elicit(stream, &request)?.elicit_result();
    Ok(format!("{:?} {:?}", result.action, result.content))
}

fn count(ctx: &MessageContext, what: &str) -> Result<String, ErrorCode> {
    let counted = || -> Result<u64, SessionError> {
        let session = open(ctx)?;
        let count = match session.get(what)? {
            Some(TypedValue::AsU64(count)) => count + 1,
            _ => 1,
        };
        session.set(what, &TypedValue::AsU64(count))?;
        Ok(count)
    };
    counted().map(|count| format!("{count} {what}")).map_err(|error| failed(format!("{error:?}")))
}

export!(Counter);
