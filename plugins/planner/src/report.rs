//! What the planner tells.

use schemars::JsonSchema;
use serde::Serialize;

use crate::mishaps::Told;

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    /// The agent's tools that may be called, in alphabetical order.
    pub(crate) tools: Vec<String>,
    /// The days that were looked at, in order.
    pub(crate) days: Vec<Day>,
    pub(crate) event: Event,
    /// The calls that were to go wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mishaps: Vec<Told>,
}

/// One day.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Day {
    pub(crate) day: String,
    /// Free hours.
    pub(crate) slots: Vec<String>,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<String>,
}

/// What became of the event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// It is in the calendar.
    Created {
        id: String,
        day: String,
        start: String,
        title: String,
        /// Whether somebody on the agent's side changed it before it was made.
        edited: bool,
    },
    /// It is not; says why.
    NotCreated { reason: String },
    /// No hour is free on any of the days.
    NothingFree,
}

/// What many calls came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Overhead {
    pub(crate) calls: u32,
    /// How many gave a day's free hours.
    pub(crate) succeeded: usize,
}
