//! A component of an earlier `wasix:mcp`, whose types differ.

wit_bindgen::generate!({
    inline: r#"
        package wasix:mcp@24.11.5;
        interface router {
            list-tools: func() -> list<string>;
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
}

export!(Router);
