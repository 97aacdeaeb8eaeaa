//! A component that calls itself one of `wasix:mcp@25.6.18`, and lacks most of it.

wit_bindgen::generate!({
    inline: r#"
        package wasix:mcp@25.6.18;
        interface router {
            list-tools: func() -> list<string>;
            call-tool: func(tool-name: string) -> string;
        }
        world routing {
            export router;
        }
    "#,
});

struct Router;

impl exports::wasix::mcp::router::Guest for Router {
    fn list_tools() -> Vec<String> {
        vec![]
    }

    fn call_tool(tool_name: String) -> String {
        tool_name
    }
}

export!(Router);
