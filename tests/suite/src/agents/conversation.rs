//! What an agent sends to its model and gets back, in whatever protocol, and what the protocols have in common.

use crate::web::Reply;
use serde_json::{Map, Value};

/// A tool as an agent offers it to its model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Offered {
    /// The name, which agents derive from the server's name and the tool's.
    pub(crate) name: String,
    /// Codex groups the tools of a server in a namespace, which a call must name.
    pub(crate) namespace: Option<String>,
    /// Required arguments that are a choice, with their first value: OpenHands wants to know how risky each call is.
    pub(crate) adds: Map<String, Value>,
}

/// What an agent sends to its model.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The tools that the model may call.
    pub(crate) tools: Vec<Offered>,
    /// The text of each tool result so far, in order.
    pub(crate) results: Vec<String>,
}

/// What the model answers.
pub(super) enum Turn<'a> {
    /// Calls a tool. The number makes its id.
    Call(usize, &'a Offered, &'a Value),
    /// Ends its turn with a text.
    Say(&'a str),
}

/// A protocol.
pub(super) trait Dialect: Sync {
    /// Whether a request to this path speaks it.
    fn is_at(&self, path: &str) -> bool;
    /// Reads the body of a request.
    fn read(&self, body: &Value) -> Conversation;
    /// The answer to a request to this path.
    fn answer(&self, path: &str, body: &Value, turn: &Turn<'_>) -> Reply;
}

/// A body of server-sent events, each of which has a name or not.
pub(crate) fn events<'a>(events: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    let event = |(name, data): (&str, Value)| match name {
        "" => format!("data: {data}\n\n"),
        _ => format!("event: {name}\ndata: {data}\n\n"),
    };
    let body: String = events.into_iter().map(event).collect();
    Reply::new(200, body).with("Content-Type", "text/event-stream")
}

/// The text of content that is a string, one part or an array of parts. Parts that are no text are shown as JSON.
pub(crate) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => {
            part.get("text").and_then(Value::as_str).map_or_else(|| content.to_string(), str::to_owned)
        }
        _ => String::new(),
    }
}

/// The elements of an array; none of what is not an array.
pub(crate) fn each(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

/// A tool of this name, and nothing more.
pub(crate) fn offered(name: &Value) -> Option<Offered> {
    Some(Offered { name: name.as_str()?.to_owned(), ..Offered::default() })
}

impl Offered {
    /// The arguments of a call, with those that the agent adds.
    pub(crate) fn arguments(&self, own: &Value) -> Value {
        let own = own.as_object().cloned().unwrap_or_default();
        self.adds.clone().into_iter().chain(own).collect()
    }
}
