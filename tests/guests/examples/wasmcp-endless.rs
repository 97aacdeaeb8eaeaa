//! A component of `wasmcp:mcp-v20251125` whose list of tools has no last page.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:endless;
        world endless {
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;

struct Endless;

impl Guest for Endless {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        Ok(ListToolsResult { meta: None, next_cursor: Some("more".into()), tools: vec![] })
    }

    fn call_tool(_: MessageContext, _: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        Ok(None)
    }
}

export!(Endless);
