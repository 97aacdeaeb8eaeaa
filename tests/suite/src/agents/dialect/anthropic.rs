//! Anthropic's Messages, which Claude Code speaks.

use crate::agents::conversation::{Conversation, Dialect, Turn, each, events, offered, text};
use crate::web::Reply;
use serde_json::{Value, json};

pub(super) struct Messages;

impl Dialect for Messages {
    fn is_at(&self, path: &str) -> bool {
        path.ends_with("/v1/messages")
    }

    fn read(&self, body: &Value) -> Conversation {
        let parts = each(&body["messages"]).flat_map(|message| each(&message["content"]));
        let results = parts.filter(|part| part["type"] == "tool_result").map(|part| text(&part["content"]));
        let tools = each(&body["tools"]).filter_map(|tool| offered(&tool["name"]));
        Conversation { tools: tools.collect(), results: results.collect() }
    }

    fn answer(&self, _: &str, body: &Value, turn: &Turn<'_>) -> Reply {
        let (block, delta, stop) = match turn {
            Turn::Call(number, tool, arguments) => (
                json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool.name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
                "tool_use",
            ),
            Turn::Say(text) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}), "end_turn")
            }
        };
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let message = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        if body["stream"] != true {
            let mut whole = message;
            let content = match turn {
                Turn::Say(text) => json!({"type": "text", "text": text}),
                Turn::Call(_, _, arguments) => {
                    let mut block = block;
                    block["input"] = (*arguments).clone();
                    block
                }
            };
            (whole["content"], whole["stop_reason"]) = (json!([content]), stop.into());
            return Reply::json(whole);
        }
        let ended = json!({"stop_reason": stop, "stop_sequence": null});
        let sent = [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ];
        let named = sent.iter().map(|event| (event["type"].as_str().unwrap_or_default(), event.clone()));
        events(named.collect::<Vec<_>>())
    }
}
