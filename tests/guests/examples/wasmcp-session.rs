//! A component of `wasmcp:mcp-v20251125` that keeps a list in its session, as that project's own example does, and tries others.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:todo;
        world todo {
            import wasmcp:mcp-v20251125/sessions@0.1.1;
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use serde_json::Value;
use wasmcp::keyvalue::store::TypedValue;
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;
use wasmcp::mcp_v20251125::sessions::{Session, SessionError};

struct Todo;

impl Guest for Todo {
    fn list_tools(ctx: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        assert!(ctx.session.is_none(), "nobody calls yet");
        let names = ["add", "list", "id", "end", "open", "all", "large", "many", "long", "hold", "ask"];
        let tools =
            names.map(|name| Tool { name: name.into(), input_schema: r#"{"type":"object"}"#.into(), options: None });
        Ok(ListToolsResult { meta: None, next_cursor: None, tools: tools.into() })
    }

    fn call_tool(ctx: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let given: Value = serde_json::from_str(&request.arguments.clone().unwrap_or_default()).unwrap_or_default();
        let (said, is_error) = match run(&ctx, &request.name, &given) {
            Ok(said) => (said, false),
            Err(SessionError::Store(reason)) => (format!("store: {reason}"), true),
            Err(SessionError::Unexpected(reason)) => (format!("unexpected: {reason}"), true),
            Err(error) => (format!("{error:?}"), true),
        };
        let content = vec![ContentBlock::Text(TextContent { text: TextData::Text(said), options: None })];
        Ok(Some(CallToolResult { meta: None, content, is_error: Some(is_error), structured_content: None }))
    }
}

fn run(ctx: &MessageContext, tool: &str, given: &Value) -> Result<String, SessionError> {
    let info = ctx.session.as_ref().ok_or(SessionError::Unexpected("No session available".into()))?;
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    let id = text("id").unwrap_or_else(|| info.session_id.clone());
    let session = Session::open(&id, &text("store").unwrap_or_else(|| info.store_id.clone()))?;
    let number = given["n"].as_u64().unwrap_or_default();
    match tool {
        "add" => {
            let mut list = load(&session)?;
            list.push(text("title").unwrap_or_default());
            let bytes = serde_json::to_vec(&list).unwrap_or_default();
            session.set("todo:list", &TypedValue::AsBytes(bytes))?;
            Ok(format!("{} items", list.len()))
        }
        "list" => Ok(load(&session)?.join(", ")),
        "id" => Ok(format!("{} {}", session.id(), session.id() == info.session_id)),
        "open" => Ok(session.id()),
        "all" => {
            for (at, value) in all().iter().enumerate() {
                let key = format!("schlüssel {at}");
                session.set(&key, value)?;
                let back = session.get(&key)?;
                assert_eq!(format!("{back:?}"), format!("{:?}", Some(value)));
            }
            Ok(format!("{:?}", session.get("nothing")?.is_none()))
        }
        "large" => session.set("large", &TypedValue::AsBytes(vec![7; number as usize])).map(|()| "kept".into()),
        "long" => session.set(&"k".repeat(number as usize), &TypedValue::AsBool(true)).map(|()| "kept".into()),
        "many" => {
            for at in 0..number {
                session.set(&format!("many {at}"), &TypedValue::AsU64(at))?;
            }
            Ok("kept".into())
        }
        "hold" => {
            let mut held = vec![session];
            loop {
                held.push(Session::open(&info.session_id, &info.store_id)?);
            }
        }
        "end" => {
            let other = Session::open(&info.session_id, &info.store_id)?;
            session.terminate(Some("it is done"))?;
            session.terminate(None)?;
            assert!(matches!(session.get("todo:list"), Err(SessionError::NoSuchSession)));
            assert!(matches!(session.set("todo:list", &TypedValue::AsBool(true)), Err(SessionError::NoSuchSession)));
            assert!(other.get("todo:list")?.is_none(), "it was emptied for all handles");
            Ok("ended".into())
        }
        _ => {
            let stream = ctx.client_stream.as_ref().ok_or(SessionError::NoSuchSession)?;
            let form = ElicitFormRequest {
                message: "How many?".into(),
                requested_schema: RequestedSchema { properties: vec![], required: None },
            };
            session.elicit(stream, &ElicitRequest::Form(form)).map(|_| "asked".into())
        }
    }
}

fn load(session: &Session) -> Result<Vec<String>, SessionError> {
    match session.get("todo:list")? {
        Some(TypedValue::AsBytes(bytes)) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
        _ => Ok(vec![]),
    }
}

fn all() -> [TypedValue; 7] {
    [
        TypedValue::AsString("é".into()),
        TypedValue::AsJson("{}".into()),
        TypedValue::AsU64(u64::MAX),
        TypedValue::AsS64(i64::MIN),
        TypedValue::AsBool(true),
        TypedValue::AsBytes(vec![0, 255]),
        TypedValue::AsBytes(vec![]),
    ]
}

export!(Todo);
