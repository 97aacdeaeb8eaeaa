//! Calls that go wrong, each in its own way. What they end with is the host's and the agent's decision; here it is only
//! told.

use std::time::Duration;

use portcullis_guest::ToolError;
use portcullis_guest::agent_tools::{self, AgentError, Call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long the slow tool may take.
const PATIENCE: Duration = Duration::from_millis(200);

/// A way to go wrong.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mishap {
    /// A tool that the manifest asks for and no operator should grant.
    Ungranted,
    /// A tool that does not exist.
    Unknown,
    /// Arguments that the tool's schema does not allow.
    Misfit,
    /// A tool that takes longer than the caller waits.
    Slow,
    /// Another planner on the agent's side, which calls the calendar in turn.
    Deeper,
    /// That planner asked to call itself.
    Itself,
}

/// What came of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    mishap: Mishap,
    tool: &'static str,
    /// How the call ended, in a line.
    ended: String,
}

/// Makes the call and tells its end.
pub(crate) fn cause(mishap: Mishap) -> Result<Told, ToolError> {
    let errand = json!({ "title": "an errand", "from": "2026-12-01", "days": 1 });
    let (tool, arguments) = match mishap {
        Mishap::Ungranted => ("mail.send", json!({ "to": "everybody" })),
        Mishap::Unknown => ("calendar.burn", json!({})),
        Mishap::Misfit => ("calendar.free_slots", json!({ "day": 1 })),
        Mishap::Slow => ("calendar.sync", json!({})),
        Mishap::Deeper => ("assistant.plan_day", errand),
        Mishap::Itself => ("assistant.plan_day", with(errand, "mishaps", json!(["deeper"]))),
    };
    let call = Call::new(tool, &arguments).purpose("see how it goes wrong");
    let call = if matches!(mishap, Mishap::Slow) { call.timeout(PATIENCE) } else { call };
    let answer = agent_tools::call_many(vec![call]).pop().unwrap_or(Err(AgentError::Cancelled));
    let ended = match answer.and_then(|answer| answer.read::<Value>()) {
        Err(AgentError::Cancelled) => return Err(ToolError::Cancelled),
        Err(error) => error.to_string(),
        // Another planner tells how its own call went wrong.
        Ok(plan) => match plan.pointer("/mishaps/0/ended").or_else(|| plan.pointer("/event/status")) {
            Some(told) => format!("it says: {}", told.as_str().unwrap_or_default()),
            None => "nothing went wrong".to_owned(),
        },
    };
    Ok(Told { mishap, tool, ended })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}
