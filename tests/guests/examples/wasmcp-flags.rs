//! A component that calls itself one of `wasmcp:mcp-v20251125`, with types that take much memory of the host.

wit_bindgen::generate!({
    inline: r#"
        package wasmcp:mcp-v20251125@0.1.1;
        interface tools {
            record context { protocol-version: string }
            record request { name: option<string> }
            flags many { a, b, c, d, e, f, g, h }
            list-tools: func(ctx: context, request: request) -> result<list<many>, string>;
            call-tool: func(ctx: context, request: request) -> result<option<string>, string>;
        }
        world flagged {
            export tools;
        }
    "#,
});

use exports::wasmcp::mcp_v20251125::tools::{Context, Guest, Many, Request};

struct Flagged;

impl Guest for Flagged {
    fn list_tools(_: Context, _: Request) -> Result<Vec<Many>, String> {
        Ok(vec![Many::all(); 1 << 20])
    }

    fn call_tool(_: Context, _: Request) -> Result<Option<String>, String> {
        Ok(None)
    }
}

export!(Flagged);
