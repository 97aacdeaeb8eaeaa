//! The table of lanes and clients.

use super::lane::Lane;
use super::run::Run;
use serde_json::{Value, json};
use std::fmt;

/// The days that the planner requests.
const DAYS: usize = 20;

/// The results of all clients in all lanes, each compared with the same plan.
pub struct Table {
    runs: Vec<Run>,
    /// The text of the plan from the first run. Its content is checked, too.
    text: String,
}

impl Table {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        let first = runs.iter().find_map(|run| run.seen.as_ref());
        let text = first.map(|seen| seen["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned());
        Self { runs, text: text.unwrap_or_default() }
    }

    /// Whether every cell is correct.
    pub fn is_good(&self) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| self.wrong(run).is_none())
    }

    /// The error of a cell.
    fn wrong(&self, run: &Run) -> Option<String> {
        let seen = run.seen.as_ref()?;
        if let Some(error) = seen.get("error") {
            return Some(format!("ended with the error {error}"));
        }
        let version = if run.era == "auto" { "2026-07-28" } else { "2025-11-25" };
        let (served, asked) = match run.lane {
            Lane::Local => (json!({}), json!({})),
            Lane::Live | Lane::Retry | Lane::Request => (calls(), json!({})),
            Lane::Ask => (calls(), json!({"sampling/createMessage": DAYS + 1})),
        };
        let result = &seen["result"];
        let checks = [
            ("protocol version", &seen["protocolVersion"], json!(version)),
            ("calls of the client's functions", &seen["served"], served),
            ("questions to the client", &seen["asked"], asked),
            ("isError", &json!(result["isError"] == true), json!(false)),
            ("event", &result["structuredContent"]["event"], event()),
            ("days", &json!(result["structuredContent"]["days"].as_array().map_or(0, Vec::len)), json!(DAYS)),
            ("text", &result["content"][0]["text"], json!(self.text)),
        ];
        let wrong = checks.iter().find(|(_, is, wanted)| *is != wanted);
        wrong.map(|(what, is, wanted)| format!("{what}: {is} instead of {wanted}"))
    }
}

fn calls() -> Value {
    json!({"calendar.free_slots": DAYS, "calendar.create_event": 1})
}

fn event() -> Value {
    json!({
        "status": "created", "id": "2026-12-01-11", "day": "2026-12-01", "start": "11:00", "title": "Portcullis",
        "edited": false,
    })
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<Vec<String>> = vec![["client", "revision", "transport"].map(str::to_owned).to_vec()];
        lines[0].extend(Lane::ALL.map(|lane| lane.name().to_owned()));
        let (mut excuses, mut wrongs): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
        for row in self.runs.chunks(Lane::ALL.len()) {
            let Run { peer, era, transport, .. } = &row[0];
            let seen = row.iter().find_map(|run| run.seen.as_ref());
            let version = seen.and_then(|seen| seen["client"].as_str()?.split(' ').nth(1)).unwrap_or_default();
            let mut line = vec![format!("{} {version}", peer.name), (*era).to_owned(), transport.name().to_owned()];
            for run in row {
                line.push(match run.lane.excuse(peer, era) {
                    Some(excuse) => {
                        if !excuses.contains(&excuse) {
                            excuses.push(excuse);
                        }
                        let number = excuses.iter().position(|other| *other == excuse).unwrap_or_default() + 1;
                        format!("({number})")
                    }
                    None => match self.wrong(run) {
                        None => "ok".to_owned(),
                        Some(wrong) => {
                            let title = format!("{}, {era}, {}", peer.name, transport.name());
                            wrongs.push(format!("{title}, {}: {wrong}", run.lane.name()));
                            "WRONG".to_owned()
                        }
                    },
                });
            }
            lines.push(line);
        }
        for line in &lines {
            for (column, cell) in line.iter().enumerate() {
                let width = lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
                write!(out, "{cell:width$}  ")?;
            }
            writeln!(out)?;
        }
        writeln!(out)?;
        for (at, excuse) in excuses.iter().enumerate() {
            writeln!(out, "({}) {excuse}", at + 1)?;
        }
        wrongs.iter().try_for_each(|wrong| writeln!(out, "{wrong}"))?;
        let verdict = if self.is_good() { "Every lane" } else { "NOT every lane" };
        writeln!(
            out,
            "{verdict} gives every client that can carry it the same plan: {DAYS} days and one event, each called once, \
             and no model asked but in `ask`."
        )
    }
}
