//! OpenAI's chat completions, which opencode and fast-agent speak.

use crate::agents::conversation::{Conversation, Dialect, Turn, each, events, offered, text};
use crate::web::Reply;
use serde_json::{Value, json};

pub(super) struct Completions;

impl Dialect for Completions {
    fn is_at(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn read(&self, body: &Value) -> Conversation {
        let results = each(&body["messages"]).filter(|message| message["role"] == "tool");
        let tools = each(&body["tools"]).filter_map(|tool| offered(&tool["function"]["name"]));
        Conversation { tools: tools.collect(), results: results.map(|message| text(&message["content"])).collect() }
    }

    fn answer(&self, _: &str, body: &Value, turn: &Turn<'_>) -> Reply {
        let (mut message, reason) = match turn {
            Turn::Call(number, tool, arguments) => {
                let function = json!({"name": tool.name, "arguments": arguments.to_string()});
                let call =
                    json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
                (json!({"tool_calls": [call]}), "tool_calls")
            }
            Turn::Say(text) => (json!({"content": text}), "stop"),
        };
        message["role"] = "assistant".into();
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        let whole = |object: &str, choices: Value| json!({"id": "chat_1", "object": object, "created": 1, "model": body["model"], "choices": choices, "usage": usage});
        if body["stream"] != true {
            let choice = json!({"index": 0, "message": message, "finish_reason": reason});
            return Reply::json(whole("chat.completion", json!([choice])));
        }
        let chunk = |delta: Value, reason: Value| {
            whole("chat.completion.chunk", json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
        };
        let sent = [("", chunk(message, Value::Null)), ("", chunk(json!({}), reason.into()))];
        let reply = events(sent);
        reply.ending_with("data: [DONE]\n\n")
    }
}
