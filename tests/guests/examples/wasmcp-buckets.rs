//! A component of `wasmcp:mcp-v20251125` that would open stores by their names.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:buckets;
        world buckets {
            import wasmcp:keyvalue/store@0.1.0;
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use wasmcp::keyvalue::store::open;
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;

struct Buckets;

impl Guest for Buckets {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        Ok(ListToolsResult { meta: None, next_cursor: open("default").map(|_| "2".into()).ok(), tools: vec![] })
    }

    fn call_tool(_: MessageContext, _: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        Ok(None)
    }
}

export!(Buckets);
