//! A component of the synchronous tier of ACT whose results are not what they say, or too much.

wit_bindgen::generate!({
    path: "dialects/act-tools-sync.wit",
    inline: r#"
        package acme:hostile;
        world hostile {
            export act:tools-sync/tool-provider-sync@0.1.0;
        }
    "#,
    generate_all,
});

use act::core::types::{Error, LocalizedString, Metadata};
use act::tools::types::{ContentPart, ListToolsResponse, ToolDefinition, ToolEvent};
use exports::act::tools_sync::tool_provider_sync::Guest;

struct Hostile;

impl Guest for Hostile {
    fn list_tools(_: Metadata) -> Result<ListToolsResponse, Error> {
        let run = ToolDefinition {
            name: "run".into(),
            description: LocalizedString::Localized(vec![]),
            parameters_schema: r#"{"type":"object","properties":{"what":{"type":"string"}}}"#.into(),
            // Nested much too deep, and so no hint.
            metadata: vec![("std:read-only".into(), vec![0x81; 10_000])],
        };
        Ok(ListToolsResponse { metadata: vec![], tools: vec![run] })
    }

    fn call_tool(_: String, arguments: Vec<u8>, _: Metadata) -> Vec<ToolEvent> {
        // The value is the last text in them.
        let what = String::from_utf8_lossy(&arguments).into_owned();
        let is = |name: &str| what.ends_with(name);
        let part = |mime_type: &str, data: Vec<u8>| {
            ToolEvent::Content(ContentPart { data, mime_type: Some(mime_type.into()), metadata: vec![] })
        };
        match () {
            () if is("deep") => vec![part("application/cbor", [vec![0x81; 100_000], vec![1]].concat())],
            // An array of so many items that are not there.
            () if is("length") => vec![part("application/cbor", vec![0x9B, 0x7F, 255, 255, 255, 255, 255, 255, 255])],
            () if is("wide") => vec![part("application/cbor", [vec![0x9A, 0, 15, 0, 0], vec![0; 0xF_0000]].concat())],
            () if is("halves") => {
                (0..3).map(|_| part("application/cbor", [vec![0x9A, 0, 2, 0, 0], vec![0; 0x2_0000]].concat())).collect()
            }
            () if is("text") => vec![part("text/plain", vec![0xFF, 0xFE])],
            () if is("json") => vec![part("application/json", b"{".to_vec())],
            () if is("many") => (0..10_000).map(|_| part("text/plain", vec![])).collect(),
            () if is("giant") => vec![part("text/plain", vec![b'x'; 9 << 20])],
            () if is("spin") => loop {
                std::hint::black_box(0);
            },
            () => vec![],
        }
    }
}

export!(Hostile);
