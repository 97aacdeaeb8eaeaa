//! What the agent's calendar says of a day.

use portcullis_guest::agent_tools::{self, AgentError, Call};
use serde::Deserialize;
use serde_json::{Value, json};

const TOOL: &str = "calendar.free_slots";

/// A day's free hours.
#[derive(Debug, Deserialize)]
pub(crate) struct Slots {
    pub(crate) slots: Vec<String>,
}

/// Asks for one day.
pub(crate) fn of(day: &str) -> Result<Slots, AgentError> {
    agent_tools::call(TOOL, &arguments(day))
}

/// Asks for several at once; the answers come in the order of the days.
pub(crate) fn of_all(days: &[String]) -> Vec<Result<Slots, AgentError>> {
    let call = |day: &String| Call::new(TOOL, &arguments(day)).purpose(format!("find a free hour on {day}"));
    let answers = agent_tools::call_many(days.iter().map(call).collect());
    answers.into_iter().map(|answer| answer.and_then(|answer| answer.read())).collect()
}

fn arguments(day: &str) -> Value {
    json!({ "day": day })
}
