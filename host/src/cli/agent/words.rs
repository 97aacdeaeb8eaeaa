//! Matters and what is heard, in words for a person and as JSON for programs.

use super::screen::{Screen, quoted, word};
use agent::{Action, Address, Item, Matter, words};
use runtime::imports::{Content, SampleAnswer, SampleContent, SampleRequest};
use serde_json::{Value, json};
use upstream::{Asker, Heard};

/// Something that waits for a decision.
pub(super) fn matter(screen: &Screen, id: u64, matter: &Matter) -> (Value, String) {
    let mut json = json!({ "event": "waiting", "id": id, "server": matter.server() });
    let head = |what: &str, from: Option<&Asker>| {
        let plugin = from.and_then(|from| from.plugin.as_deref());
        let plugin = plugin.map(|plugin| format!(", says its plugin {:?}", word(plugin))).unwrap_or_default();
        screen.strong(&format!("[{id}] {}{plugin}: {what}", word(matter.server())))
    };
    let mut set = |more: Value| {
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
    };
    let text = match matter {
        Matter::Call { request, whole_task, .. } => {
            let arguments = Value::Object(request.arguments.clone());
            set(json!({ "kind": "call", "tool": request.name, "arguments": arguments, "readOnly": request.read_only,
                        "plugin": request.from.plugin, "purpose": request.purpose }));
            let kind = if request.read_only { "which says it changes nothing" } else { "which may change something" };
            let pretty = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            let mut text = head(&format!("call your tool {}, {kind}, with", word(&request.name)), Some(&request.from));
            text += &format!("\n{}", quoted(&pretty));
            if let Some(purpose) = &request.purpose {
                text += &format!("\n    because, it says,\n{}", quoted(purpose));
            }
            let once = if *whole_task { " (until the call ends)" } else { "" };
            text + &format!(
                "\n    approve {id}{once} | approve {id} task | approve {id} always | edit {id} {{…}} | deny {id} [reason]"
            )
        }
        Matter::Form { from, message, schema } => {
            let schema: Value = serde_json::from_str(schema.text()).unwrap_or_default();
            set(json!({ "kind": "form", "message": message, "schema": schema, "plugin": from.plugin }));
            let fields: Vec<String> =
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| word(name)).collect();
            let fields = fields.join(", ");
            let text = head("asks you", Some(from));
            format!(
                "{text}\n{}\n    fields: {fields}\n    answer {id} | answer {id} {{…}} | deny {id}",
                quoted(message)
            )
        }
        Matter::Page { from, message, address } => {
            let whole = format!("{}{}{}", address.before, address.host, address.after);
            set(json!({ "kind": "page", "message": message, "url": whole, "host": address.host,
                        "warnings": address.warnings, "plugin": from.plugin }));
            let text = head("wants you to open a page", Some(from));
            format!("{text}\n{}\n{}\n    approve {id} (opens it) | deny {id}", quoted(message), page(screen, address))
        }
        Matter::Prompt { from, request } | Matter::Completion { from, request } => {
            let none = matches!(matter, Matter::Completion { .. });
            let messages = conversation(request);
            set(json!({ "kind": if none { "completion" } else { "prompt" }, "prompt": messages, "plugin": from.plugin,
                        "maxTokens": request.max_tokens }));
            let what = if none { "asks a model, and you have none" } else { "asks your model" };
            let mut text = head(&format!("{what}, for up to {} tokens", request.max_tokens), Some(from));
            text += &format!("\n{}", quoted(&messages));
            text + &match none {
                true => format!("\n    answer {id} TEXT | deny {id} [reason]"),
                false => {
                    format!("\n    approve {id} | edit {id} TEXT (in place of the last message) | deny {id} [reason]")
                }
            }
        }
        Matter::Answered { from, answer } => {
            let said = said(answer);
            set(json!({ "kind": "answered", "answer": said, "model": answer.model, "plugin": from.plugin }));
            let text = head(&format!("is about to get this from {}", word(&answer.model)), Some(from));
            format!("{text}\n{}\n    approve {id} | edit {id} TEXT | deny {id} [reason]", quoted(&said))
        }
        Matter::Event { happened, .. } => {
            let event = &happened.event;
            let action = action(&happened.action);
            set(
                json!({ "kind": "event", "name": event.name, "payload": event.payload, "plugin": event.plugin, "action": action }),
            );
            let pretty = serde_json::to_string_pretty(&event.payload).unwrap_or_default();
            let plugin = event.plugin.as_deref().map(|plugin| format!(" of {:?}", word(plugin))).unwrap_or_default();
            let text = head(&format!("the event {}{plugin}", word(&event.name)), None);
            format!("{text}\n{}\n    you wanted then: {action}\n    approve {id} | deny {id}", quoted(&pretty))
        }
    };
    (json, text)
}

/// The whole address with its host apart, and what is odd about it.
fn page(screen: &Screen, address: &Address) -> String {
    let Address { before, host, after, warnings } = address;
    let mut lines =
        vec![format!("    {before}{}{after}", screen.strong(host)), format!("    host: {}", screen.strong(host))];
    lines.extend(warnings.iter().map(|warning| format!("    WARNING: {warning}")));
    lines.join("\n")
}

fn conversation(request: &SampleRequest) -> String {
    let system = request.system_prompt.iter().map(|text| format!("system: {text}"));
    let messages = request.messages.iter().map(|message| {
        let role = format!("{:?}", message.role).to_lowercase();
        format!("{role}: {}", message.content.iter().map(piece).collect::<Vec<_>>().join("\n"))
    });
    let tools = request.tools.iter().map(|tool| format!("tool: {}", tool.name));
    system.chain(messages).chain(tools).collect::<Vec<_>>().join("\n")
}

/// What a model answered.
pub(super) fn said(answer: &SampleAnswer) -> String {
    answer.content.iter().map(piece).collect::<Vec<_>>().join("\n")
}

/// The last message of a request, which is the one that can be edited.
pub(super) fn last(request: &SampleRequest) -> String {
    let content = request.messages.last().map(|message| &message.content[..]).unwrap_or_default();
    content.iter().map(piece).collect::<Vec<_>>().join("\n")
}

fn piece(content: &SampleContent) -> String {
    match content {
        SampleContent::Text(text) => text.clone(),
        SampleContent::Image(blob) | SampleContent::Audio(blob) => {
            format!("[{}, {} bytes]", blob.mime_type, blob.data.len())
        }
        SampleContent::ToolUse(tool) => format!("[wants {} {}]", tool.name, tool.input),
        SampleContent::ToolResult(outcome) => format!("[{}]", text(&outcome.content)),
    }
}

/// What is to be done about an event.
pub(super) fn action(action: &Action) -> String {
    match action {
        Action::Notify => "notify".to_owned(),
        Action::Call { server, tool, arguments } => {
            format!("call {server}.{tool} {}", Value::Object(arguments.clone()))
        }
    }
}

/// Content in words.
pub(super) fn text(content: &[Content]) -> String {
    content.iter().map(words).collect::<Vec<_>>().join("\n")
}

/// What a running call said.
pub(super) fn heard(call: u64, heard: &Heard) -> (Value, String) {
    match heard {
        Heard::Chunk { seq, content, origin } => {
            let said = text(content);
            let from = if origin.is_empty() { String::new() } else { format!(" from {}", word(&origin.join(" > "))) };
            let json = json!({ "event": "chunk", "call": call, "seq": seq, "text": said, "origin": origin });
            (json, format!("call {call}, chunk {seq}{from}\n{}", quoted(&said)))
        }
        Heard::Progress(report) => {
            let total = report.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let message = report.message.as_deref().unwrap_or_default();
            let json = json!({ "event": "progress", "call": call, "done": report.done, "total": report.total, "message": message });
            (json, format!("call {call}: {}{total}  {}", report.done, word(message)))
        }
        Heard::Log(message) => {
            let json = json!({ "event": "log", "call": call, "message": message });
            (json, format!("call {call} logs\n{}", quoted(message)))
        }
        Heard::Named(id) => (json!({ "event": "named", "call": call, "id": id }), String::new()),
    }
}

/// What a model comes to see.
pub(super) fn item(item: &Item) -> Value {
    let mut json = match item {
        Item::User(text) => json!({ "item": "user", "text": text }),
        Item::Call { call, tool, arguments } => {
            json!({ "item": "call", "call": call, "tool": tool, "arguments": arguments })
        }
        Item::Interim { call, chunks, text } => {
            json!({ "item": "interim", "call": call, "chunks": [chunks.0, chunks.1], "text": text })
        }
        Item::Digest { call, text } => json!({ "item": "digest", "call": call, "text": text }),
        Item::Result { call, text, is_error } => {
            json!({ "item": "result", "call": call, "text": text, "isError": is_error })
        }
    };
    json["event"] = "transcript".into();
    json
}
