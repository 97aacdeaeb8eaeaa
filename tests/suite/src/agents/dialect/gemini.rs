//! Gemini's `generateContent`, which Gemini CLI speaks.

use crate::agents::conversation::{Conversation, Dialect, Turn, each, events, offered, text};
use crate::web::Reply;
use serde_json::{Value, json};

pub(super) struct Generate;

impl Dialect for Generate {
    fn is_at(&self, path: &str) -> bool {
        path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent")
    }

    fn read(&self, body: &Value) -> Conversation {
        let parts = each(&body["contents"]).flat_map(|content| each(&content["parts"]));
        let results = parts.filter_map(|part| part.get("functionResponse"));
        // A result is an object whose values are the texts, under `output` or `error`.
        let result = |result: &Value| {
            let values = result["response"].as_object().into_iter().flat_map(|response| response.values());
            values.map(text).collect::<Vec<_>>().join("\n")
        };
        let tools = each(&body["tools"]).flat_map(|tool| each(&tool["functionDeclarations"]));
        let tools = tools.filter_map(|tool| offered(&tool["name"])).collect();
        Conversation { tools, results: results.map(result).collect() }
    }

    fn answer(&self, path: &str, body: &Value, turn: &Turn<'_>) -> Reply {
        // A side question wants JSON: every property of the schema it names.
        let wants_json = body["generationConfig"]["responseMimeType"] == "application/json";
        let part = match turn {
            Turn::Call(_, tool, arguments) => json!({"functionCall": {"name": tool.name, "args": arguments}}),
            Turn::Say(_) if wants_json => json!({"text": "{}"}),
            Turn::Say(text) => json!({"text": text}),
        };
        let answer = json!({
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "scripted",
        });
        if path.ends_with(":generateContent") { Reply::json(answer) } else { events([("", answer)]) }
    }
}
