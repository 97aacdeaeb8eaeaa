//! Sets the pace of whoever asks: `next` answers as soon as the file `/work/pace` says a number that is high enough.

use guests::{CallContext, Guest, Outcome, Tool};
use std::time::Duration;

guests::manifest!(r#"{"name":"pace","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);

struct Pace;

impl Guest for Pace {
    fn list_tools() -> Vec<Tool> {
        let input_schema = r#"{"type":"object","properties":{"chapter":{"type":"integer"}},"required":["chapter"]}"#;
        vec![Tool { input_schema: input_schema.to_owned(), ..guests::tool("next", None) }]
    }

    fn call_tool(_: CallContext, _: String, arguments: String) -> Outcome {
        let arguments: serde_json::Value = serde_json::from_str(&arguments).map_err(guests::failed)?;
        let wanted = arguments["chapter"].as_u64().unwrap_or_default();
        let reached = || std::fs::read_to_string("/work/pace").ok()?.trim().parse::<u64>().ok();
        while reached().is_none_or(|reached| reached < wanted) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(format!("chapter {wanted}").into())
    }
}

guests::bindings::export!(Pace with_types_in guests::bindings);
