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
            Outcome::Good | Outcome::Clients(_) | Outcome::Unable(_) | Outcome::NotTaken => None,
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
        let number = |why: &str| notes.iter().position(|note| *note == why).unwrap_or_default() + 1;
        let cell = |outcome: &Outcome| match outcome {
            Outcome::Good => "yes".to_owned(),
            Outcome::Clients(instead) => format!("yes ({})", number(instead)),
            Outcome::Unable(why) => format!("no ({})", number(why)),
            Outcome::NotTaken => String::new(),
            Outcome::Wrong(_) => "**no**".to_owned(),
        };
        // One line for both transports of a client where they are alike.
        for rows in self.rows.chunk_by(|(one, _, these), (other, _, those)| one == other && are_alike(these, those)) {
            let (client, _, outcomes) = &rows[0];
            let transports: Vec<_> = rows.iter().map(|(_, transport, _)| transport.name()).collect();
            let taken =
                |at: usize| rows.iter().map(|(.., outcomes)| &outcomes[at]).find(|one| **one != Outcome::NotTaken);
            let cells: Vec<_> = (0..outcomes.len()).map(|at| taken(at).map(cell).unwrap_or_default()).collect();
            writeln!(out, "| {client} | {} | {} |", transports.join(", "), cells.join(" | "))?;
        }
        writeln!(out)?;
        for (at, note) in notes.iter().enumerate() {
            writeln!(out, "{}. The client {note}.", at + 1)?;
        }
        Ok(())
    }
}

/// Whether two journeys went the same way, as far as both took the same steps.
fn are_alike(these: &[Outcome], those: &[Outcome]) -> bool {
    let alike = |(one, other): (&Outcome, &Outcome)| one == other || [one, other].contains(&&Outcome::NotTaken);
    these.len() == those.len() && these.iter().zip(those).all(alike)
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
