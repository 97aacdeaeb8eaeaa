//! A component of `wasmcp:mcp-v20251125` that would manage sessions, as transports do.

wit_bindgen::generate!({
    path: "dialects/wasmcp-v20251125.wit",
    inline: r#"
        package acme:manager;
        world manager {
            import wasmcp:mcp-v20251125/session-manager@0.1.1;
            export wasmcp:mcp-v20251125/tools@0.1.1;
        }
    "#,
    generate_all,
});

use exports::wasmcp::mcp_v20251125::tools::Guest;
use wasmcp::mcp_v20251125::mcp::*;
use wasmcp::mcp_v20251125::server_handler::MessageContext;
use wasmcp::mcp_v20251125::session_manager::initialize;

struct Manager;

impl Guest for Manager {
    fn list_tools(_: MessageContext, _: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        Ok(ListToolsResult { meta: None, next_cursor: initialize("state").ok(), tools: vec![] })
    }

    fn call_tool(_: MessageContext, _: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        Ok(None)
    }
}

export!(Manager);
