//! Events that plugins leave in the inbox, and what this agent does about them: it starts a call of its own, or says so.
//! The server asks for nothing; it does not even learn that somebody looks.

use super::rules::{Glob, GlobError};
use platform::clock::Clock;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The inbox of a principal; see `meta.md`.
pub const INBOX: &str = "portcullis://inbox";
/// Reactions of one server's events in a minute. Bounds what a plugin that floods the inbox makes a person decide, and
/// what it can have started where a rule decides.
const PER_MINUTE: usize = 10;
/// Events of one reading that are looked at. Bounds what a server can make of its inbox.
const MAX_EVENTS: usize = 256;

/// An event as the inbox has it: a plugin's words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InboxEvent {
    /// Unique in its inbox.
    pub id: String,
    /// What happened.
    pub name: String,
    /// Any JSON.
    #[serde(default)]
    pub payload: Value,
    /// Whose.
    #[serde(default)]
    pub plugin: Option<String>,
}

#[derive(Deserialize)]
struct Inbox {
    events: Vec<InboxEvent>,
    #[serde(default)]
    next: Option<String>,
}

/// What is to be done about an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The user is told.
    Notify,
    /// A tool is called.
    Call {
        /// On which server.
        server: String,
        /// Which.
        tool: String,
        /// With what; fixed here, so that an event cannot choose.
        arguments: Map<String, Value>,
    },
}

/// `EVENT=ACTION`.
#[derive(Debug, Clone)]
pub struct Reaction {
    event: Glob,
    action: Action,
}

/// A reaction that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("--on {text:?}: {reason}; write EVENT=notify or EVENT='call SERVER.TOOL JSON'")]
pub struct ReactionError {
    text: String,
    reason: String,
}

impl std::str::FromStr for Reaction {
    type Err = ReactionError;

    fn from_str(text: &str) -> Result<Self, ReactionError> {
        let fail = |reason: String| ReactionError { text: text.to_owned(), reason };
        let (event, action) = text.split_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        let event = Glob::new(event.trim()).map_err(|error: GlobError| fail(error.to_string()))?;
        let action = action.trim();
        if action == "notify" {
            return Ok(Self { event, action: Action::Notify });
        }
        let call = action.strip_prefix("call ").ok_or_else(|| fail("the action is neither notify nor call".into()))?;
        let (name, arguments) = call.trim().split_once(char::is_whitespace).unwrap_or((call.trim(), "{}"));
        let (server, tool) = name.split_once('.').ok_or_else(|| fail(format!("{name:?} names no server")))?;
        let arguments = serde_json::from_str(arguments)
            .map_err(|error| fail(format!("the arguments are not a JSON object: {error}")))?;
        Ok(Self { event, action: Action::Call { server: server.to_owned(), tool: tool.to_owned(), arguments } })
    }
}

/// An event that somebody waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// What.
    pub event: InboxEvent,
    /// What to do about it.
    pub action: Action,
}

/// What a reading of the inbox means.
#[derive(Debug, Default, PartialEq)]
pub struct Reading {
    /// In their order.
    pub happened: Vec<Happened>,
    /// Where to read on; nothing new when none.
    pub next: Option<String>,
    /// Events that would have started something, but came too fast.
    pub held_back: usize,
}

/// What to do about the events of one server, each once.
pub struct Reactions {
    reactions: Vec<Reaction>,
    clock: Arc<dyn Clock>,
    recent: VecDeque<Instant>,
}

impl Reactions {
    /// These, in their order; the first that fits an event is taken.
    pub fn new(reactions: Vec<Reaction>, clock: Arc<dyn Clock>) -> Self {
        Self { reactions, clock, recent: VecDeque::new() }
    }

    /// Whether any event is waited for.
    pub fn any(&self) -> bool {
        !self.reactions.is_empty()
    }

    /// What is new in the JSON of an inbox; `seen` is where the last reading ended.
    pub fn read(&mut self, inbox: &str, seen: Option<&str>) -> Result<Reading, String> {
        let inbox: Inbox = serde_json::from_str(inbox).map_err(|error| format!("the inbox is no inbox: {error}"))?;
        let mut events = inbox.events;
        // A server that knows no cursor gives everything again.
        if let Some(at) = seen.and_then(|seen| events.iter().position(|event| event.id == seen)) {
            events.drain(..=at);
        }
        let next = inbox.next.or_else(|| events.last().map(|event| event.id.clone()));
        let mut reading = Reading { next: next.filter(|next| Some(next.as_str()) != seen), ..Reading::default() };
        if reading.next.is_none() {
            return Ok(reading);
        }
        for event in events.into_iter().take(MAX_EVENTS) {
            let Some(reaction) = self.reactions.iter().find(|reaction| reaction.event.covers(&event.name)) else {
                continue;
            };
            let action = reaction.action.clone();
            if self.has_room() {
                reading.happened.push(Happened { event, action });
            } else {
                reading.held_back += 1;
            }
        }
        Ok(reading)
    }

    fn has_room(&mut self) -> bool {
        let now = self.clock.now();
        while self.recent.front().is_some_and(|then| now.duration_since(*then) >= Duration::from_secs(60)) {
            self.recent.pop_front();
        }
        let room = self.recent.len() < PER_MINUTE;
        if room {
            self.recent.push_back(now);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use serde_json::json;

    fn reactions(texts: &[&str]) -> Reactions {
        Reactions::new(texts.iter().map(|text| text.parse().unwrap()).collect(), Arc::new(SystemClock))
    }

    fn inbox(ids: &[&str]) -> String {
        let events: Vec<Value> =
            ids.iter().map(|id| json!({"id": id, "name": "policy.effective", "payload": {"n": 1}})).collect();
        json!({"events": events, "next": ids.last(), "dropped": 0}).to_string()
    }

    #[test]
    fn an_event_starts_what_the_user_wrote_and_nothing_else() {
        let mut reactions = reactions(&[r#"policy.*=call hr.submit_receipts {"open": true}"#, "*=notify"]);
        let read = reactions.read(&inbox(&["a-1"]), None).unwrap();
        let [Happened { event, action: Action::Call { server, tool, arguments } }] = &read.happened[..] else {
            panic!("{read:?}")
        };
        assert_eq!((event.id.as_str(), server.as_str(), tool.as_str()), ("a-1", "hr", "submit_receipts"));
        assert_eq!(Value::Object(arguments.clone()), json!({"open": true}));
        assert_eq!(read.next.as_deref(), Some("a-1"));
    }

    #[test]
    fn each_event_counts_once_also_without_cursors() {
        let mut reactions = reactions(&["policy.*=notify"]);
        assert_eq!(reactions.read(&inbox(&["a-1"]), None).unwrap().happened.len(), 1);
        assert_eq!(reactions.read(&inbox(&["a-1"]), Some("a-1")).unwrap(), Reading::default());
        let read = reactions.read(&inbox(&["a-1", "a-2"]), Some("a-1")).unwrap();
        assert_eq!(read.happened.iter().map(|one| one.event.id.as_str()).collect::<Vec<_>>(), ["a-2"]);
        assert_eq!(reactions.read(r#"{"events": [], "next": "a-2"}"#, Some("a-2")).unwrap(), Reading::default());
    }

    #[test]
    fn a_flood_is_held_back() {
        let mut reactions = reactions(&["*=notify"]);
        let ids: Vec<String> = (0..50).map(|n| format!("a-{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let read = reactions.read(&inbox(&ids), None).unwrap();
        assert_eq!((read.happened.len(), read.held_back), (PER_MINUTE, 40));
        assert_eq!(read.next.as_deref(), Some("a-49"), "they are not done later either");
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for bad in
            ["policy", "policy=", "=notify", "a=call", "a=call tool {}", "a=call s.t [1]", "a=call s.t {", "[=notify"]
        {
            assert!(bad.parse::<Reaction>().is_err(), "{bad}");
        }
        assert!(reactions(&["a=call s.t"]).read("nonsense", None).is_err());
    }
}
