//! OpenAI's chat completions, which most agents speak.

use crate::agents::conversation::{Conversation, Dialect, Offered, Turn, each, events, offered, text};
use crate::web::Reply;
use serde_json::{Map, Value, json};

pub(super) struct Completions;

impl Dialect for Completions {
    fn is_at(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn read(&self, body: &Value) -> Conversation {
        let results = each(&body["messages"]).filter(|message| message["role"] == "tool");
        let tools = each(&body["tools"]).filter_map(|tool| {
            let function = &tool["function"];
            Some(Offered { adds: choices(&function["parameters"]), ..offered(&function["name"])? })
        });
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
        let whole = |object: &str, choices: Value| json!({"id": "chat_1", "object": object, "created": 1, "model": body["model"], "choices": choices});
        if body["stream"] != true {
            let choice = json!({"index": 0, "message": message, "finish_reason": reason});
            let mut reply = whole("chat.completion", json!([choice]));
            reply["usage"] = usage;
            return Reply::json(reply);
        }
        let chunk = |delta: Value, reason: Value| {
            whole("chat.completion.chunk", json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
        };
        // Some agents take a chunk that says what was used for the end.
        let mut used = whole("chat.completion.chunk", json!([]));
        used["usage"] = usage;
        let reply = events([("", chunk(message, Value::Null)), ("", chunk(json!({}), reason.into())), ("", used)]);
        reply.ending_with("data: [DONE]\n\n")
    }
}

/// The required parameters that are a choice, with their first value.
fn choices(parameters: &Value) -> Map<String, Value> {
    let required = each(&parameters["required"]).filter_map(Value::as_str);
    let first = |name: &str| Some((name.to_owned(), parameters["properties"][name]["enum"].get(0)?.clone()));
    required.filter_map(first).collect()
}
