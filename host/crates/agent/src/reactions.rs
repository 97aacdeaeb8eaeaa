//! Reactions to events in a server's inbox: the agent notifies the user or starts a call that the user has configured.
//! The server does not learn of it.

use platform::clock::Clock;
use policy::{Glob, GlobError};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The resource of a principal's inbox.
pub const INBOX_URI: &str = "portcullis://inbox";
/// Reactions to one server's events in a minute. Bounds the requests to the user, and the calls that a rule allows, when
/// a plugin floods the inbox.
const PER_MINUTE: usize = 10;
/// Events of one inbox that are read at once. Bounds the work that a server can cause with its inbox.
const MAX_EVENTS: usize = 256;

/// An event in the inbox. Its text comes from a plugin.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InboxEvent {
    /// Unique in its inbox.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub payload: Value,
    #[serde(default)]
    pub plugin: Option<String>,
}

#[derive(Deserialize)]
struct InboxContents {
    events: Vec<InboxEvent>,
    #[serde(default)]
    next: Option<String>,
}

/// What the agent does when an event arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum ReactionAction {
    Notify,
    Call {
        server: String,
        tool: String,
        /// Fixed by the user, so that an event cannot choose them.
        arguments: Map<String, Value>,
    },
}

/// A reaction in the form `EVENT=ACTION`.
#[derive(Debug, Clone)]
pub struct Reaction {
    event: Glob,
    action: ReactionAction,
}

/// A malformed reaction.
#[derive(Debug, thiserror::Error)]
#[error("{reason}; write EVENT=notify or EVENT='call SERVER.TOOL JSON'")]
pub struct ReactionError {
    reason: String,
    /// The arguments that are not JSON, and why.
    pub malformed: Option<(String, serde_json::Error)>,
}

impl std::str::FromStr for Reaction {
    type Err = ReactionError;

    fn from_str(text: &str) -> Result<Self, ReactionError> {
        let fail = |reason: String| ReactionError { reason, malformed: None };
        let (event, action) = text.split_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        let event = Glob::new(event.trim()).map_err(|error: GlobError| fail(error.to_string()))?;
        let action = action.trim();
        if action == "notify" {
            return Ok(Self { event, action: ReactionAction::Notify });
        }
        let call = action.strip_prefix("call ").ok_or_else(|| fail("the action is neither notify nor call".into()))?;
        let (name, arguments) = call.trim().split_once(char::is_whitespace).unwrap_or((call.trim(), "{}"));
        let (server, tool) = name.split_once('.').ok_or_else(|| fail(format!("{name:?} names no server")))?;
        let arguments = match serde_json::from_str(arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err(fail("the arguments are JSON, but no object".into())),
            Err(error) => {
                let failed = fail(format!("the arguments are not JSON: {error}"));
                return Err(ReactionError { malformed: Some((arguments.to_owned(), error)), ..failed });
            }
        };
        Ok(Self { event, action: ReactionAction::Call { server: server.to_owned(), tool: tool.to_owned(), arguments } })
    }
}

/// An event and the reaction to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggeredReaction {
    pub event: InboxEvent,
    pub action: ReactionAction,
}

/// The new events of an inbox.
#[derive(Debug, Default, PartialEq)]
pub struct InboxReading {
    pub triggered: Vec<TriggeredReaction>,
    /// The cursor after the new events; none when nothing is new.
    pub next: Option<String>,
    /// Events with a reaction that were dropped because they came too fast.
    pub rate_limited: usize,
}

/// The reactions to events of one server. Each event counts once.
pub struct Reactions {
    reactions: Vec<Reaction>,
    clock: Arc<dyn Clock>,
    recent: VecDeque<Instant>,
}

impl Reactions {
    /// The first reaction that matches an event is taken.
    pub fn new(reactions: Vec<Reaction>, clock: Arc<dyn Clock>) -> Self {
        Self { reactions, clock, recent: VecDeque::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.reactions.is_empty()
    }

    /// Reads the new events from the JSON of an inbox. `seen` is the cursor of the last reading.
    pub fn read(&mut self, inbox: &str, seen: Option<&str>) -> Result<InboxReading, String> {
        let inbox: InboxContents =
            serde_json::from_str(inbox).map_err(|error| format!("the inbox is malformed: {error}"))?;
        let mut events = inbox.events;
        // A server without cursors returns all events again.
        if let Some(at) = seen.and_then(|seen| events.iter().position(|event| event.id == seen)) {
            events.drain(..=at);
        }
        let next = inbox.next.or_else(|| events.last().map(|event| event.id.clone()));
        let mut reading =
            InboxReading { next: next.filter(|next| Some(next.as_str()) != seen), ..InboxReading::default() };
        if reading.next.is_none() {
            return Ok(reading);
        }
        for event in events.into_iter().take(MAX_EVENTS) {
            let Some(reaction) = self.reactions.iter().find(|reaction| reaction.event.covers(&event.name)) else {
                continue;
            };
            let action = reaction.action.clone();
            if self.take_token() {
                reading.triggered.push(TriggeredReaction { event, action });
            } else {
                reading.rate_limited += 1;
            }
        }
        Ok(reading)
    }

    /// Counts a reaction. Returns whether it is within the rate limit.
    fn take_token(&mut self) -> bool {
        let now = self.clock.now();
        while self.recent.front().is_some_and(|then| now.duration_since(*then) >= Duration::from_secs(60)) {
            self.recent.pop_front();
        }
        let allowed = self.recent.len() < PER_MINUTE;
        if allowed {
            self.recent.push_back(now);
        }
        allowed
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
    fn an_event_triggers_the_first_matching_reaction() {
        let mut reactions = reactions(&[r#"policy.*=call hr.submit_receipts {"open": true}"#, "*=notify"]);
        let read = reactions.read(&inbox(&["a-1"]), None).unwrap();
        let [TriggeredReaction { event, action: ReactionAction::Call { server, tool, arguments } }] =
            &read.triggered[..]
        else {
            panic!("{read:?}")
        };
        assert_eq!((event.id.as_str(), server.as_str(), tool.as_str()), ("a-1", "hr", "submit_receipts"));
        assert_eq!(Value::Object(arguments.clone()), json!({"open": true}));
        assert_eq!(read.next.as_deref(), Some("a-1"));
    }

    #[test]
    fn each_event_counts_once_also_without_cursors() {
        let mut reactions = reactions(&["policy.*=notify"]);
        assert_eq!(reactions.read(&inbox(&["a-1"]), None).unwrap().triggered.len(), 1);
        assert_eq!(reactions.read(&inbox(&["a-1"]), Some("a-1")).unwrap(), InboxReading::default());
        let read = reactions.read(&inbox(&["a-1", "a-2"]), Some("a-1")).unwrap();
        assert_eq!(read.triggered.iter().map(|triggered| triggered.event.id.as_str()).collect::<Vec<_>>(), ["a-2"]);
        assert_eq!(reactions.read(r#"{"events": [], "next": "a-2"}"#, Some("a-2")).unwrap(), InboxReading::default());
    }

    #[test]
    fn a_flood_is_rate_limited() {
        let mut reactions = reactions(&["*=notify"]);
        let ids: Vec<String> = (0..50).map(|n| format!("a-{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let read = reactions.read(&inbox(&ids), None).unwrap();
        assert_eq!((read.triggered.len(), read.rate_limited), (PER_MINUTE, 40));
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
