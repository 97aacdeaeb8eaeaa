//! A component of the synchronous tier of ACT: results of all media types, and errors before and after them.

wit_bindgen::generate!({
    path: "dialects/act-tools-sync.wit",
    inline: r#"
        package acme:notes;
        world notes {
            export act:tools-sync/tool-provider-sync@0.1.0;
        }
    "#,
    generate_all,
});

use act::core::types::{Error, LocalizedString, Metadata};
use act::tools::types::{ContentPart, ListToolsResponse, ToolDefinition, ToolEvent};
use exports::act::tools_sync::tool_provider_sync::Guest;

struct Notes;

impl Guest for Notes {
    fn list_tools(_: Metadata) -> Result<ListToolsResponse, Error> {
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: LocalizedString::Plain(format!("It is {name}.")),
            parameters_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.into(),
            metadata: vec![],
        };
        let mut tools: Vec<_> =
            ["json", "kinds", "refuse", "fail", "fail-late", "bytes", "large"].map(tool).into_iter().collect();
        tools.push(ToolDefinition {
            description: LocalizedString::Localized(vec![
                ("de".into(), "Gibt zurück.".into()),
                ("en-GB".into(), "Returns what it got.".into()),
            ]),
            metadata: vec![("std:read-only".into(), vec![0xF5]), ("std:destructive".into(), vec![0xF4])],
            ..tool("back")
        });
        Ok(ListToolsResponse { metadata: vec![], tools })
    }

    fn call_tool(name: String, arguments: Vec<u8>, _: Metadata) -> Vec<ToolEvent> {
        match name.as_str() {
            "back" => vec![part("application/cbor", &arguments)],
            "json" => vec![part("application/json; charset=utf-8", br#"{"notes": [1, 2]}"#)],
            "kinds" => vec![
                part("text/markdown", "# é".as_bytes()),
                part("image/png", &[1, 2, 255]),
                part("audio/wav", &[3]),
                ToolEvent::Content(ContentPart { data: vec![0, 255], mime_type: None, metadata: vec![] }),
            ],
            "refuse" => vec![error("std:invalid-args", "not these")],
            "fail" => vec![error("std:internal", "it was not to be")],
            "fail-late" => {
                vec![part("text/plain", b"first"), error("std:timeout", "too late"), part("text/plain", b"never")]
            }
            "large" => vec![part("text/plain", "x".repeat(2 << 20).as_bytes())],
            _ => vec![],
        }
    }
}

fn part(mime_type: &str, data: &[u8]) -> ToolEvent {
    ToolEvent::Content(ContentPart { data: data.to_vec(), mime_type: Some(mime_type.into()), metadata: vec![] })
}

fn error(kind: &str, message: &str) -> ToolEvent {
    ToolEvent::Error(Error { kind: kind.into(), message: LocalizedString::Plain(message.into()), metadata: vec![] })
}

export!(Notes);
