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
            let request = match text("url") {
                Some(url) => {
                    ElicitRequest::Url(ElicitUrlRequest { elicitation_id: "1".into(), message: "Look".into(), url })
                }
                None => ElicitRequest::Form(form()),
            };
            let future = session.elicit(stream, &request)?;
            let pollable = future.subscribe();
            assert!(pollable.ready());
            pollable.block();
            let result = future.elicit_result();
            assert_eq!(format!("{result:?}"), format!("{:?}", future.elicit_result()));
            Ok(format!("{:?} {:?}", result.action, result.content))
        }
    }
}

/// With a property of each kind.
fn form() -> ElicitFormRequest {
    use PrimitiveSchemaDefinition::{
        BooleanSchema as OfBoolean, EnumSchema as OfEnum, NumberSchema as OfNumber, StringSchema as OfString,
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let options = |names: &[&str]| {
        let option = |name: &&str| EnumOption { const_value: (*name).into(), title: name.to_uppercase() };
        names.iter().map(option).collect::<Vec<_>>()
    };
    let (description, title) = (None, None);
    let properties = [
        (
            "name",
            OfString(StringSchema {
                default: Some("Ada".into()),
                description: Some("Who".into()),
                format: None,
                max_length: Some(9),
                min_length: Some(1),
                title: Some("Name".into()),
            }),
        ),
        (
            "mail",
            OfString(StringSchema {
                default: None,
                description: None,
                format: Some(StringSchemaFormat::Email),
                max_length: None,
                min_length: None,
                title: None,
            }),
        ),
        (
            "size",
            OfNumber(NumberSchema {
                default: None,
                description: None,
                maximum: Some(9.0),
                minimum: Some(1.0),
                title: None,
                type_: NumberSchemaType::Integer,
            }),
        ),
        ("sure", OfBoolean(BooleanSchema { default: Some(false), description: None, title: None })),
        (
            "colour",
            OfEnum(EnumSchema::UntitledSingleSelect(UntitledSingleSelectEnumSchema {
                enum_: texts(&["red", "blue"]),
                default: None,
                description: description.clone(),
                title: title.clone(),
            })),
        ),
        (
            "shade",
            OfEnum(EnumSchema::TitledSingleSelect(TitledSingleSelectEnumSchema {
                one_of: options(&["light", "dark"]),
                default: Some("dark".into()),
                description: description.clone(),
                title: title.clone(),
            })),
        ),
        (
            "tags",
            OfEnum(EnumSchema::UntitledMultiSelect(UntitledMultiSelectEnumSchema {
                enum_: texts(&["a", "b"]),
                default: None,
                description: description.clone(),
                title: title.clone(),
            })),
        ),
        (
            "marks",
            OfEnum(EnumSchema::TitledMultiSelect(TitledMultiSelectEnumSchema {
                one_of: options(&["x", "y"]),
                default: None,
                description,
                title,
            })),
        ),
    ];
    let properties = properties.map(|(name, property)| (name.to_owned(), property)).into();
    let requested_schema = RequestedSchema { properties, required: Some(texts(&["name"])) };
    ElicitFormRequest { message: "How is it?".into(), requested_schema }
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
