//! OpenAI's Responses, which Codex speaks.

use crate::agents::conversation::{Conversation, Dialect, Offered, Turn, each, events, text};
use crate::web::Reply;
use serde_json::{Value, json};

pub(super) struct Responses;

impl Dialect for Responses {
    fn is_at(&self, path: &str) -> bool {
        path.ends_with("/responses")
    }

    fn read(&self, body: &Value) -> Conversation {
        let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        let mut tools = Vec::new();
        for tool in each(&body["tools"]) {
            if tool["type"] == "namespace" {
                let namespace = Some(name(tool));
                tools.extend(each(&tool["tools"]).map(|tool| Offered {
                    name: name(tool),
                    namespace: namespace.clone(),
                    ..Offered::default()
                }));
            } else {
                tools.push(Offered { name: name(tool), ..Offered::default() });
            }
        }
        let results = each(&body["input"]).filter(|item| item["type"] == "function_call_output");
        Conversation { tools, results: results.map(|item| text(&item["output"])).collect() }
    }

    fn answer(&self, _: &str, _: &Value, turn: &Turn<'_>) -> Reply {
        let item = match turn {
            Turn::Call(number, tool, arguments) => {
                let mut item = json!({
                    "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
                    "name": tool.name, "arguments": arguments.to_string(), "status": "completed",
                });
                if let Some(namespace) = &tool.namespace {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            }
            Turn::Say(text) => json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }),
        };
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
        let done =
            json!({"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage});
        let sent = [
            json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": done}),
        ];
        let named = sent.iter().map(|event| (event["type"].as_str().unwrap_or_default(), event.clone()));
        events(named.collect::<Vec<_>>())
    }
}
