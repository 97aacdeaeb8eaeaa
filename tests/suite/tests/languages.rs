//! `hello` in three languages is one plugin to its callers.

use serde_json::json;
use suite::{Client, Era, Server, paths, plugin_from};

const LANGUAGES: [&str; 3] = ["hello", "hello-python", "hello-javascript"];

#[test]
fn hello_answers_alike() {
    let config: String = LANGUAGES
        .map(|name| {
            plugin_from(name, &paths::real_plugin(name), "limits.memory = \"128 MiB\"\nlimits.fuel = 10_000_000_000")
        })
        .concat();
    let mut client = Client::new(Server::start(&config), Era::Modern, true);
    client.progress = true;
    let mut tools = client.tools();
    tools.retain(|tool| tool["name"].as_str().is_some_and(|name| name.ends_with("__greet")));
    assert_eq!(tools.len(), 3);
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["required"], json!(["name"]), "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    for name in LANGUAGES {
        let called = client.call(&format!("{name}__greet"), json!({"name": "Ada"}));
        assert_eq!(called.good(), "Hello, Ada!", "{name}");
        assert_eq!(called.usage()["chunks"], called.chunks().len(), "{name}");
        let called = client.call(&format!("{name}__greet"), json!({}));
        assert_eq!(called.code(), "invalid-arguments", "{name}: {}", called.result());
    }
}
