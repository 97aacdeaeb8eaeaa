//! A component of `wasmcp:mcp-v20251125` that needs its sessions.

wit_bindgen::generate!({
    inline: r#"
        package wasmcp:mcp-v20251125@0.1.1;
        interface sessions {
            resource session {
                open: static func(session-id: string, store-id: string) -> result<session>;
                id: func() -> string;
            }
        }
        interface tools {
            list-tools: func() -> string;
            call-tool: func() -> string;
        }
        world todo {
            import sessions;
            export tools;
        }
    "#,
});

use wasmcp::mcp_v20251125::sessions::Session;

struct Todo;

impl exports::wasmcp::mcp_v20251125::tools::Guest for Todo {
    fn list_tools() -> String {
        Session::open("a", "b").map_or_else(|()| String::new(), |session| session.id())
    }

    fn call_tool() -> String {
        Self::list_tools()
    }
}

export!(Todo);
