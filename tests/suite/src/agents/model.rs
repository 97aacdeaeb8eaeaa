//! A model that follows a script: whatever is said to it, it makes the next call. What agents send it is what a real
//! model would read.

use super::conversation::{Conversation, Offered, Turn};
use super::dialect::request;
use crate::web::{Reply, Seen, Web};
use serde_json::{Value, json};

/// One call of the script: the tool's name at the server, and the arguments.
pub(crate) type Call = (&'static str, Value);

/// A running model.
pub(crate) struct Model {
    web: Web,
}

impl Model {
    /// Starts one that makes these calls, one after the other.
    pub(crate) fn start(script: Vec<Call>) -> Self {
        Self { web: Web::serve(move |seen| answer(&script, seen)) }
    }

    /// Its address, with a path.
    pub(crate) fn url(&self, path: &str) -> String {
        self.web.url(path)
    }

    /// The longest conversation so far: agents send all of it each time.
    pub(crate) fn conversation(&self) -> Conversation {
        let seen = self.web.seen();
        let all = seen.iter().filter_map(request).map(|(dialect, body)| dialect.read(&body));
        all.max_by_key(|conversation| (conversation.results.len(), conversation.tools.len())).unwrap_or_default()
    }
}

/// The offered tool of a server's tool. Agents put the server's name before it in different ways, some replace `-` or write `_` for
/// `__`, and gptme puts a digest behind it.
pub(crate) fn find<'a>(tools: &'a [Offered], name: &str) -> Option<&'a Offered> {
    let plain = |name: &str| name.replace('-', "_").replace("__", "_");
    let name = plain(name);
    let find = |fits: fn(&str, &str) -> bool| tools.iter().find(|tool| fits(&plain(&tool.name), &name));
    find(|tool, name| tool.ends_with(name)).or_else(|| find(|tool, name| tool.contains(name)))
}

fn answer(script: &[Call], seen: &Seen) -> Reply {
    let Some((dialect, body)) = request(seen) else {
        let model = json!({"id": "scripted", "object": "model", "created": 1, "owned_by": "suite"});
        return Reply::json(json!({"object": "list", "data": [model], "models": []}));
    };
    let conversation = dialect.read(&body);
    let next = conversation.results.len();
    let turn = match script.get(next) {
        None => Turn::Say("The journey is over."),
        Some((name, arguments)) => match find(&conversation.tools, name) {
            Some(tool) => {
                return dialect.answer(seen.path(), &body, &Turn::Call(next, tool, &tool.arguments(arguments)));
            }
            // A side question, such as for a title, or an agent that lost our tools.
            None => Turn::Say("There is no such tool."),
        },
    };
    dialect.answer(seen.path(), &body, &turn)
}
