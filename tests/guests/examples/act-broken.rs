//! A component of the synchronous tier of ACT that cannot say what tools it has.

wit_bindgen::generate!({
    path: "dialects/act-tools-sync.wit",
    inline: r#"
        package acme:broken;
        world broken {
            export act:tools-sync/tool-provider-sync@0.1.0;
        }
    "#,
    generate_all,
});

use act::core::types::{Error, LocalizedString, Metadata};
use act::tools::types::{ListToolsResponse, ToolEvent};
use exports::act::tools_sync::tool_provider_sync::Guest;

struct Broken;

impl Guest for Broken {
    fn list_tools(_: Metadata) -> Result<ListToolsResponse, Error> {
        let message = LocalizedString::Localized(vec![("en".into(), "the list is lost".into())]);
        Err(Error { kind: "std:internal".into(), message, metadata: vec![] })
    }

    fn call_tool(_: String, _: Vec<u8>, _: Metadata) -> Vec<ToolEvent> {
        vec![]
    }
}

export!(Broken);
