//! The table of all journeys, as Markdown.

use super::agent::Agent;
use super::journey::{Outcome, STEPS};
use super::session::Transport;
use std::fmt;

/// One row for each agent and transport, one column for each step.
pub struct Table {
    rows: Vec<(String, Transport, Vec<Outcome>)>,
}

impl Table {
    pub(super) fn new(journeys: impl Iterator<Item = (Agent, Transport, Vec<Outcome>)>) -> Self {
        let name = |agent: Agent| format!("{} {}", agent.name(), agent.version().unwrap_or_default());
        Self { rows: journeys.map(|(agent, transport, outcomes)| (name(agent), transport, outcomes)).collect() }
    }

    /// Whether nothing is wrong, or all that is wrong.
    pub fn wrong(&self) -> Vec<String> {
        let cells = self.rows.iter().flat_map(|(agent, transport, outcomes)| {
            outcomes.iter().zip(STEPS).map(move |(outcome, step)| (agent, transport, step, outcome))
        });
        let wrong = cells.filter_map(|(agent, transport, step, outcome)| match outcome {
            Outcome::Wrong(why) => Some(format!("{agent}, {}, {step}: {why}", transport.name())),
            Outcome::Good | Outcome::Clients(_) => None,
        });
        wrong.collect()
    }

    /// What clients do instead, in the order of its first appearance.
    fn notes(&self) -> Vec<&'static str> {
        let mut notes = Vec::new();
        for outcome in self.rows.iter().flat_map(|(.., outcomes)| outcomes) {
            if let Outcome::Clients(instead) = outcome
                && !notes.contains(instead)
            {
                notes.push(*instead);
            }
        }
        notes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notes = self.notes();
        writeln!(out, "| agent | transport | {} |", STEPS.join(" | "))?;
        writeln!(out, "|---|---|{}", ":-:|".repeat(STEPS.len()))?;
        for (agent, transport, outcomes) in &self.rows {
            let cells = outcomes.iter().map(|outcome| match outcome {
                Outcome::Good => "yes".to_owned(),
                Outcome::Clients(instead) => {
                    let number = notes.iter().position(|note| note == instead).unwrap_or_default() + 1;
                    format!("yes ({number})")
                }
                Outcome::Wrong(_) => "**no**".to_owned(),
            });
            writeln!(out, "| {agent} | {} | {} |", transport.name(), cells.collect::<Vec<_>>().join(" | "))?;
        }
        writeln!(out)?;
        for (at, note) in notes.iter().enumerate() {
            writeln!(out, "{}. The client {note}.", at + 1)?;
        }
        Ok(())
    }
}
