//! The table of all journeys, as Markdown.

use super::served::Transport;
use super::steps::{Outcome, STEPS};
use std::fmt;

/// What came of one client's journey over one transport; the client by name and version.
pub(crate) type Row = (String, Transport, Vec<Outcome>);

/// One row for each client and transport, one column for each step that the clients took.
pub struct Table {
    /// What the clients are.
    kind: &'static str,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(kind: &'static str, rows: Vec<Row>) -> Self {
        Self { kind, rows }
    }

    /// Whether nothing is wrong, or all that is wrong.
    pub fn wrong(&self) -> Vec<String> {
        let cells = self.rows.iter().flat_map(|(client, transport, outcomes)| {
            outcomes.iter().zip(STEPS).map(move |(outcome, step)| (client, transport, step, outcome))
        });
        let wrong = cells.filter_map(|(client, transport, step, outcome)| match outcome {
            Outcome::Wrong(why) => Some(format!("{client}, {}, {step}: {why}", transport.name())),
            Outcome::Good | Outcome::Clients(_) | Outcome::Unable(_) => None,
        });
        wrong.collect()
    }

    /// What clients do instead, or why they do not, in the order of its first appearance.
    fn notes(&self) -> Vec<&'static str> {
        let mut notes = Vec::new();
        for outcome in self.rows.iter().flat_map(|(.., outcomes)| outcomes) {
            if let Outcome::Clients(why) | Outcome::Unable(why) = outcome
                && !notes.contains(why)
            {
                notes.push(*why);
            }
        }
        notes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notes = self.notes();
        let steps = self.rows.iter().map(|(.., outcomes)| outcomes.len()).max().unwrap_or_default();
        writeln!(out, "| {} | transport | {} |", self.kind, STEPS[..steps].join(" | "))?;
        writeln!(out, "|---|---|{}", ":-:|".repeat(steps))?;
        for (client, transport, outcomes) in &self.rows {
            let number = |why| notes.iter().position(|note| note == why).unwrap_or_default() + 1;
            let cells = outcomes.iter().map(|outcome| match outcome {
                Outcome::Good => "yes".to_owned(),
                Outcome::Clients(instead) => format!("yes ({})", number(instead)),
                Outcome::Unable(why) => format!("no ({})", number(why)),
                Outcome::Wrong(_) => "**no**".to_owned(),
            });
            writeln!(out, "| {client} | {} | {} |", transport.name(), cells.collect::<Vec<_>>().join(" | "))?;
        }
        writeln!(out)?;
        for (at, note) in notes.iter().enumerate() {
            writeln!(out, "{}. The client {note}.", at + 1)?;
        }
        Ok(())
    }
}

/// Prints the table, and all that is wrong to stderr; whether nothing is.
#[allow(clippy::print_stdout, reason = "for programs that people run at a terminal; no MCP wire here")]
pub fn report(table: &Table) -> bool {
    print!("{table}");
    let wrong = table.wrong();
    for wrong in &wrong {
        eprintln!("{wrong}");
    }
    wrong.is_empty()
}
