//! A source of knowledge: says what the file `text` of its granted folder says about the query, after two chunks. While
//! there is a file `stuck` it waits instead, and with a file `broken` it ends badly. Both are looked at between the chunks.

use guests::{Execution, Tool, ToolAnnotations, failed, output, text};
use std::path::Path;
use std::time::Duration;

const SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#;

fn tool() -> Tool {
    Tool {
        name: "search".to_owned(),
        title: None,
        description: "Searches.".to_owned(),
        input_schema: SCHEMA.to_owned(),
        output_schema: None,
        annotations: ToolAnnotations { read_only: Some(true), destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: vec![],
    }
}

struct Plugin;

impl guests::Guest for Plugin {
    fn list_tools() -> Vec<Tool> {
        vec![tool()]
    }

    fn call_tool(_: guests::CallContext, _: String, arguments: String) -> guests::Outcome {
        let query = serde_json::from_str::<serde_json::Value>(&arguments).map_err(failed)?["query"]
            .as_str()
            .unwrap_or("")
            .to_owned();
        let say = |words: String| output::emit(&[text(words)]).map_err(|error| failed(format!("{error:?}")));
        say(format!("looking for {query}"))?;
        while Path::new("/work/stuck").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!Path::new("/work/broken").exists(), "it breaks");
        say(format!("found {query}"))?;
        let known = std::fs::read_to_string("/work/text").map_err(failed)?;
        Ok(format!("{query}: {}", known.trim()).into())
    }
}

guests::bindings::export!(Plugin with_types_in guests::bindings);
guests::manifest!(r#"{"name":"searcher","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);
