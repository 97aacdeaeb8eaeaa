//! What is said to calls that are running: `dev.portcullis/steer`, and a tool for clients that cannot send it.

use super::respond::By;
use super::server::Shared;
use platform::telemetry::printable;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use runtime::imports::{CallContext, MAX_STEERING_MESSAGE, Steering};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The extension's id.
pub(super) const STEERING: &str = "dev.portcullis/steering";
/// The tool's name.
pub const STEER_CALL: &str = "steer_call";
/// The interface that a plugin reads messages with, without its version.
const INTERFACE: &str = "portcullis:plugin/steering@";
/// Characters of a call's name that are kept: that of a tool is shorter, an address may be anything.
const NAME: usize = 256;
/// Running calls that a refusal lists. Bounds the answer where hundreds run.
const LISTED: usize = 64;

/// Parameters of `dev.portcullis/steer`, and arguments of the tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Steer {
    call: Option<String>,
    correlation_id: Option<String>,
    message: String,
}

/// The calls that run or are parked, by principal.
#[derive(Default)]
pub(super) struct Running(Mutex<State>);

#[derive(Default)]
struct State {
    began: u64,
    calls: HashMap<Principal, BTreeMap<u64, Entry>>,
}

struct Entry {
    call: String,
    tool: String,
    correlation: Option<String>,
    /// None: its plugin does not read messages.
    steering: Option<Steering>,
}

/// A running call; it is none any more when this is dropped.
pub(super) struct Place {
    running: Arc<Running>,
    principal: Principal,
    number: u64,
}

impl Running {
    /// A call begins. With it: where its messages wait.
    pub(super) fn begin(self: &Arc<Self>, by: By<'_>, tool: &str, call: &CallContext) -> (Place, Steering) {
        let reads = match by {
            By::Plugin(plugin) => plugin.inspection.imports.iter().any(|import| import.starts_with(INTERFACE)),
            By::Beyond(_) => false,
        };
        let steering = Steering::default();
        let place = self.enter(call, tool, reads.then(|| steering.clone()));
        (place, steering)
    }

    fn enter(self: &Arc<Self>, call: &CallContext, tool: &str, steering: Option<Steering>) -> Place {
        let correlation = call.correlation_id.clone();
        let tool = tool.chars().take(NAME).collect();
        let entry = Entry { call: call.id.clone(), tool, correlation, steering };
        let mut state = self.lock();
        state.began += 1;
        let number = state.began;
        state.calls.entry(call.principal.clone()).or_default().insert(number, entry);
        Place { running: self.clone(), principal: call.principal.clone(), number }
    }

    /// Leaves a message for the one call that is meant; its id.
    fn say(&self, principal: &Principal, said: Steer) -> Result<String, ErrorData> {
        let Steer { call, correlation_id, message } = said;
        let state = self.lock();
        let own = state.calls.get(principal).into_iter().flat_map(BTreeMap::values);
        let meant: Vec<&Entry> = own
            .filter(|entry| call.as_ref().is_none_or(|call| *call == entry.call))
            .filter(|entry| correlation_id.is_none() || correlation_id == entry.correlation)
            .collect();
        let refused = |text: String, data| Err(ErrorData::invalid_params(text, data));
        match meant.as_slice() {
            [] => refused("no such call is running".into(), None),
            [Entry { steering: None, tool, .. }] => {
                refused(format!("the plugin behind `{}` does not read messages", printable(tool)), None)
            }
            [Entry { steering: Some(steering), call, .. }] => match steering.say(&message) {
                Ok(()) => Ok(call.clone()),
                Err(error) => refused(error.to_string(), None),
            },
            several => {
                let listed: Vec<Value> = several.iter().take(LISTED).map(|entry| entry.shown()).collect();
                let text = format!("{} calls are running; say which is meant by its `call`", several.len());
                refused(text, Some(json!({ "running": listed })))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn shown(&self) -> Value {
        let mut shown = json!({ "call": self.call, "tool": self.tool });
        if let Some(correlation) = &self.correlation {
            shown["correlationId"] = correlation.as_str().into();
        }
        shown
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.running.lock();
        if let Some(own) = state.calls.get_mut(&self.principal) {
            own.remove(&self.number);
            if own.is_empty() {
                state.calls.remove(&self.principal);
            }
        }
    }
}

/// `dev.portcullis/steer`; the id of the call that was meant.
pub(super) fn say(server: &Shared, principal: &Principal, said: Steer) -> Result<String, ErrorData> {
    server.running.say(principal, said)
}

/// The tool as it is listed.
pub(super) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "message": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_STEERING_MESSAGE,
                "description": "What to say, such as: skip the tests"
            },
            "call": {
                "type": "string",
                "description": "Id of the call, as in the _meta of its notifications; may be left out while only one runs"
            }
        },
        "required": ["message"],
        "additionalProperties": false
    });
    let description = "Says something to a tool call that is still running. The tool reads it when it likes, or never.";
    let mut tool = Tool::new(STEER_CALL, description, Arc::new(object(schema)));
    tool.title = Some("Steer a running call".into());
    let result = json!({ "type": "object", "properties": { "call": { "type": "string" } }, "required": ["call"] });
    tool.output_schema = Some(Arc::new(object(result)));
    tool.annotations = Some(ToolAnnotations::from_raw(None, Some(false), Some(false), Some(false), Some(false)));
    tool
}

/// A call of the tool.
pub(super) fn call(server: &Shared, principal: &Principal, arguments: JsonObject) -> CallToolResult {
    let said = serde_json::from_value(arguments.into()).map_err(|error| error.to_string());
    let said = said.and_then(|said| say(server, principal, said).map_err(|error| with_list(&error)));
    let mut result = match said {
        Ok(call) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(format!("said to the call {call}"))]);
            result.structured_content = Some(json!({ "call": call }));
            result
        }
        Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
    };
    result.meta = Some(server.meta(None));
    result
}

/// A tool's answer has no place for data, and its reader wants to know which calls there are.
fn with_list(error: &ErrorData) -> String {
    match &error.data {
        Some(data) => format!("{}: {}", error.message, data["running"]),
        None => error.message.to_string(),
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(principal: &str, correlation: Option<&str>) -> CallContext {
        let mut context = CallContext::new(Principal::known("key", principal));
        context.correlation_id = correlation.map(str::to_owned);
        context
    }

    fn to(call: Option<&str>, correlation: Option<&str>) -> Steer {
        let (call, correlation_id) = (call.map(str::to_owned), correlation.map(str::to_owned));
        Steer { call, correlation_id, message: "hurry".into() }
    }

    #[test]
    fn a_message_finds_the_call_that_is_meant() {
        let running = Arc::new(Running::default());
        let (one, two) = (context("alice", Some("trip")), context("alice", None));
        let (first, second) = (Steering::default(), Steering::default());
        let alice = one.principal.clone();
        assert!(running.say(&alice, to(None, None)).unwrap_err().message.contains("no such call"));
        let place = running.enter(&one, "a__run", Some(first.clone()));
        assert_eq!(running.say(&alice, to(None, None)).unwrap(), one.id);
        let _other = running.enter(&two, "b__run", Some(second.clone()));
        let several = running.say(&alice, to(None, None)).unwrap_err();
        let listed = &several.data.unwrap()["running"];
        assert_eq!(listed[0], json!({ "call": one.id, "tool": "a__run", "correlationId": "trip" }));
        assert_eq!(listed[1], json!({ "call": two.id, "tool": "b__run" }));
        assert_eq!(running.say(&alice, to(Some(&two.id), None)).unwrap(), two.id);
        assert_eq!(running.say(&alice, to(None, Some("trip"))).unwrap(), one.id);
        assert!(running.say(&alice, to(Some(&two.id), Some("trip"))).is_err(), "both must fit");
        assert_eq!([first.next(), first.next(), first.next()].iter().flatten().count(), 2);
        assert_eq!(second.next().as_deref(), Some("hurry"));
        drop(place);
        assert_eq!(running.say(&alice, to(None, None)).unwrap(), two.id);
    }

    #[test]
    fn calls_of_others_are_not_there_and_some_do_not_listen() {
        let running = Arc::new(Running::default());
        let hers = context("alice", Some("trip"));
        let place = running.enter(&hers, "a__run", None);
        let bob = Principal::known("key", "bob");
        let gone = running.say(&bob, to(Some("no such id"), None)).unwrap_err();
        for asked in [to(Some(&hers.id), None), to(None, Some("trip")), to(None, None)] {
            assert_eq!(running.say(&bob, asked).unwrap_err(), gone);
        }
        let deaf = running.say(&hers.principal, to(None, None)).unwrap_err();
        assert!(deaf.message.contains("does not read messages"), "{}", deaf.message);
        drop(place);
        assert!(running.lock().calls.is_empty());
    }
}
