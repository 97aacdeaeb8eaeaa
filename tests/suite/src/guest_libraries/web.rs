//! The web server that libraries send requests to. It plays that of OpenAI, too.

use crate::web::{Reply, Seen};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// Its answers.
pub fn answer(seen: &Seen) -> Reply {
    let body = &seen.body;
    match seen.path() {
        "/slow" => {
            thread::sleep(Duration::from_secs(3));
            Reply::new(200, "late")
        }
        "/busy" => Reply::new(503, "busy"),
        "/moved" => Reply::redirect("/echo"),
        "/long" => Reply::new(200, format!("{}grün", "x".repeat(1 << 20))),
        "/length" => Reply::new(200, seen.bytes.len().to_string()),
        "/v1/files" if body.contains("filename=\"a.json\"") => Reply::json(json!({"id": "file-1", "object": "file"})),
        "/v1/chat/completions" if body.contains("\"stream\":true") => {
            let part = |text: &str| json!({"id": "1", "choices": [{"index": 0, "delta": {"content": text}}]});
            let said = format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", part("Hel"), part("lo"));
            Reply::new(200, said).with("Content-Type", "text/event-stream")
        }
        "/v1/chat/completions" => {
            let asked: Value = serde_json::from_str(body).unwrap_or_default();
            let said = format!("You said {}.", asked["messages"][0]["content"].as_str().unwrap_or_default());
            Reply::json(
                json!({"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}),
            )
        }
        _ => Reply::json(json!({
            "method": seen.method, "target": seen.target, "type": seen.header("content-type"), "body": body,
        })),
    }
}
