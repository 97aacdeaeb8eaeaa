//! The running calls, and the messages that clients send to them. Also the tool for clients that cannot send
//! `dev.portcullis/steer`.

use platform::sync::Mutex;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use runtime::imports::{CallContext, MAX_STEERING_MESSAGE, Steering, SteeringError, SteeringMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, MutexGuard};

pub(crate) const STEER_CALL: &str = "steer_call";
/// Characters of a target's name that are kept. Tools have shorter names; a resource's URI can have any length.
const MAX_TARGET: usize = 256;
/// Running calls that an error lists, of which there can be hundreds.
const MAX_LISTED: usize = 64;

/// Parameters of `dev.portcullis/steer`, and arguments of the tool.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteerParams {
    call: Option<String>,
    correlation_id: Option<String>,
    /// May be left out only with `end`.
    #[serde(default)]
    message: String,
    /// The number of the message, if its sender numbers them.
    seq: Option<u64>,
    /// Whether this is the last message.
    #[serde(default)]
    end: bool,
}

/// The outcome of sending a message.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Steered {
    pub(crate) call: String,
    /// The number of the next message, if the sender numbers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

impl SteerParams {
    /// Parameters for a call whose id is known.
    pub(crate) fn to_call(call: &str, message: SteeringMessage) -> Self {
        let SteeringMessage { text, seq, end } = message;
        Self { call: Some(call.to_owned()), correlation_id: None, message: text, seq, end }
    }

    /// The call and the message, if the parameters select the call only by its id.
    pub(crate) fn of_one_call(&self) -> Option<(&str, SteeringMessage)> {
        let message = SteeringMessage { text: self.message.clone(), seq: self.seq, end: self.end };
        self.call.as_deref().filter(|_| self.correlation_id.is_none()).map(|call| (call, message))
    }
}

/// The calls that run or are parked, by principal.
#[derive(Default)]
pub(crate) struct RunningCalls(Mutex<RunningCallTable>);

#[derive(Default)]
struct RunningCallTable {
    /// Number of the next call.
    next: u64,
    calls: HashMap<Principal, BTreeMap<u64, RunningCall>>,
}

struct RunningCall {
    call: Arc<str>,
    tool: Arc<str>,
    correlation: Option<String>,
    /// The queue of its messages; none if its plugin does not read them.
    steering: Option<Steering>,
}

/// Lists a call as running until it is dropped.
pub(crate) struct RunningCallGuard {
    running: Arc<RunningCalls>,
    principal: Principal,
    number: u64,
}

impl RunningCalls {
    /// Registers a call, and returns the queue of its messages; none unless its plugin reads them.
    pub(crate) fn register(
        self: &Arc<Self>,
        call: &CallContext,
        target: &Arc<str>,
        reads_messages: bool,
        is_resumed: bool,
    ) -> (RunningCallGuard, Option<Steering>) {
        let steering = reads_messages.then(|| if is_resumed { Steering::resumed() } else { Steering::default() });
        (self.insert(call, target, steering.clone()), steering)
    }

    fn insert(self: &Arc<Self>, call: &CallContext, tool: &Arc<str>, steering: Option<Steering>) -> RunningCallGuard {
        let correlation = call.correlation_id.clone();
        let tool = if tool.len() <= MAX_TARGET { tool.clone() } else { truncate_chars(tool, MAX_TARGET).into() };
        let entry = RunningCall { call: call.id.clone(), tool, correlation, steering };
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.calls.entry(call.principal.clone()).or_default().insert(number, entry);
        RunningCallGuard { running: self.clone(), principal: call.principal.clone(), number }
    }

    /// Sends a message to the one call that the parameters select.
    pub(crate) fn steer(&self, principal: &Principal, params: SteerParams) -> Result<Steered, ErrorData> {
        let SteerParams { call, correlation_id, message: text, seq, end } = params;
        let state = self.lock();
        let own = state.calls.get(principal).into_iter().flat_map(BTreeMap::values);
        let selected: Vec<&RunningCall> = own
            .filter(|entry| call.as_ref().is_none_or(|call| **call == *entry.call))
            .filter(|entry| correlation_id.is_none() || correlation_id == entry.correlation)
            .collect();
        let refused = |text: String, data| Err(ErrorData::invalid_params(text, data));
        match selected.as_slice() {
            [] => refused("no such call is running".into(), None),
            [RunningCall { steering: None, tool, .. }] => {
                refused(format!("the plugin behind `{}` does not read messages", printable(tool)), None)
            }
            [RunningCall { steering: Some(steering), call, .. }] => {
                match steering.say(SteeringMessage { text, seq, end }) {
                    Ok(next) => Ok(Steered { call: call.to_string(), next }),
                    Err(error @ SteeringError::Missing { next }) => {
                        refused(error.to_string(), Some(json!({ "next": next })))
                    }
                    Err(error) => refused(error.to_string(), None),
                }
            }
            several => {
                let listed: Vec<Value> = several.iter().take(MAX_LISTED).map(|entry| entry.to_json()).collect();
                let text = format!("{} calls are running; select one by its `call`", several.len());
                refused(text, Some(json!({ "running": listed })))
            }
        }
    }

    /// Returns when a call that runs again is back where it was, so that it knows the number of the next message.
    pub(crate) async fn caught_up(&self, principal: &Principal, call: &str) {
        if let Some(steering) = self.steering_of(principal, call) {
            steering.caught_up().await;
        }
    }

    /// Puts back a message that an earlier run of the call has not read. The error is a sentence.
    pub(crate) fn put_back(&self, principal: &Principal, call: &str, message: SteeringMessage) -> Result<(), String> {
        let steering =
            self.steering_of(principal, call).ok_or("no such call is running, or it does not read messages")?;
        steering.put_back(message).map_err(|error| error.to_string())
    }

    fn steering_of(&self, principal: &Principal, call: &str) -> Option<Steering> {
        let state = self.lock();
        let mut own = state.calls.get(principal).into_iter().flat_map(BTreeMap::values);
        own.find(|entry| *entry.call == *call).and_then(|entry| entry.steering.clone())
    }

    /// Whether this call runs or is parked.
    pub(crate) fn has(&self, principal: &Principal, call: &str) -> bool {
        let state = self.lock();
        let mut own = state.calls.get(principal).into_iter().flat_map(BTreeMap::values);
        own.any(|entry| *entry.call == *call && !entry.steering.as_ref().is_some_and(Steering::is_closed))
    }

    fn lock(&self) -> MutexGuard<'_, RunningCallTable> {
        self.0.lock()
    }
}

impl RunningCall {
    fn to_json(&self) -> Value {
        let mut json = json!({ "call": &*self.call, "tool": &*self.tool });
        if let Some(correlation) = &self.correlation {
            json["correlationId"] = correlation.as_str().into();
        }
        json
    }
}

impl Drop for RunningCallGuard {
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

/// The tool `steer_call` as `tools/list` shows it.
pub(crate) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "message": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_STEERING_MESSAGE,
                "description": "The message, such as: skip the tests"
            },
            "call": {
                "type": "string",
                "description": "Id of the call, as in the _meta of its notifications; may be left out while only one runs"
            },
            "end": { "type": "boolean", "description": "Whether this is the last message; a tool may wait for more otherwise" }
        },
        "required": ["message"],
        "additionalProperties": false
    });
    let description = "Sends a message to a running tool call. The tool decides when to read it, if at all.";
    let mut tool = Tool::new(STEER_CALL, description, Arc::new(object(schema)));
    tool.title = Some("Steer a running call".into());
    let result = json!({ "type": "object", "properties": { "call": { "type": "string" } }, "required": ["call"] });
    tool.output_schema = Some(Arc::new(object(result)));
    tool.annotations = Some(ToolAnnotations::from_raw(None, Some(false), Some(false), Some(false), Some(false)));
    tool
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
        let mut context = CallContext::new(Principal::from_source("key", principal));
        context.correlation_id = correlation.map(str::to_owned);
        context
    }

    fn to(call: Option<&str>, correlation: Option<&str>) -> SteerParams {
        let (call, correlation_id) = (call.map(str::to_owned), correlation.map(str::to_owned));
        SteerParams { call, correlation_id, message: "hurry".into(), seq: None, end: false }
    }

    #[test]
    fn a_message_reaches_the_selected_call() {
        let running = Arc::new(RunningCalls::default());
        let (one, two) = (context("alice", Some("trip")), context("alice", None));
        let (first, second) = (Steering::default(), Steering::default());
        let alice = one.principal.clone();
        assert!(running.steer(&alice, to(None, None)).unwrap_err().message.contains("no such call"));
        let guard = running.insert(&one, &"a__run".into(), Some(first.clone()));
        assert_eq!(running.steer(&alice, to(None, None)).unwrap().call, *one.id);
        let _other = running.insert(&two, &"b__run".into(), Some(second.clone()));
        let several = running.steer(&alice, to(None, None)).unwrap_err();
        let listed = &several.data.unwrap()["running"];
        assert_eq!(listed[0], json!({ "call": &*one.id, "tool": "a__run", "correlationId": "trip" }));
        assert_eq!(listed[1], json!({ "call": &*two.id, "tool": "b__run" }));
        assert_eq!(running.steer(&alice, to(Some(&two.id), None)).unwrap().call, *two.id);
        assert_eq!(running.steer(&alice, to(None, Some("trip"))).unwrap().call, *one.id);
        assert!(running.steer(&alice, to(Some(&two.id), Some("trip"))).is_err(), "both must fit");
        assert_eq!([first.next(), first.next(), first.next()].iter().flatten().count(), 2);
        assert_eq!(second.next().map(|message| message.text).as_deref(), Some("hurry"));
        drop(guard);
        assert_eq!(running.steer(&alice, to(None, None)).unwrap().call, *two.id);
    }

    #[test]
    fn calls_of_others_are_hidden_and_plugins_without_steering_refuse_messages() {
        let running = Arc::new(RunningCalls::default());
        let hers = context("alice", Some("trip"));
        let guard = running.insert(&hers, &"a__run".into(), None);
        let bob = Principal::from_source("key", "bob");
        let gone = running.steer(&bob, to(Some("no such id"), None)).unwrap_err();
        for asked in [to(Some(&hers.id), None), to(None, Some("trip")), to(None, None)] {
            assert_eq!(running.steer(&bob, asked).unwrap_err(), gone);
        }
        let deaf = running.steer(&hers.principal, to(None, None)).unwrap_err();
        assert!(deaf.message.contains("does not read messages"), "{}", deaf.message);
        drop(guard);
        assert!(running.lock().calls.is_empty());
    }
}
