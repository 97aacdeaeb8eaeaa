//! The table of all transcripts.

use super::run::Run;
use super::same::{DIFFERENCES, difference, essence};
use super::script::{EFFECTS, Ends, SCRIPT, Scenario};
use serde_json::{Value, json};
use std::fmt;

/// All transcripts, compared with the first one, which must match the script.
pub struct Table {
    rows: Vec<Row>,
}

struct Row {
    title: [String; 3],
    /// By scenario: the error.
    wrong: Vec<Option<String>>,
    /// Errors of the run as a whole.
    whole: Option<String>,
}

impl Table {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        let essences = |run: &Run| -> Vec<Value> {
            let calls = SCRIPT.iter().enumerate();
            calls.map(|(at, scenario)| essence(run, scenario, &run.seen["calls"][at])).collect()
        };
        let first = runs.first().map(essences).unwrap_or_default();
        let rows = runs.iter().map(|run| {
            let wrong = SCRIPT.iter().zip(essences(run)).zip(&first).map(|((scenario, essence), first)| {
                unlike_script(scenario, &essence).or_else(|| difference("", &essence, first))
            });
            let version = run.seen["protocolVersion"].as_str().unwrap_or_default().to_owned();
            let wanted = if run.era == "auto" { "2026-07-28" } else { "2025-11-25" };
            let whole = if version != wanted {
                Some(format!("speaks {version:?} instead of {wanted}"))
            } else {
                (run.effects != EFFECTS).then(|| format!("{} things were done instead of {EFFECTS}", run.effects))
            };
            let client = run.seen["client"].as_str().unwrap_or(run.peer.name);
            let client = client.replacen(client.split(' ').next().unwrap_or_default(), run.peer.name, 1);
            let era = format!("{} ({version})", run.era);
            Row { title: [client, era, run.transport.name().to_owned()], wrong: wrong.collect(), whole }
        });
        Self { rows: rows.collect() }
    }

    /// Whether all transcripts are equal and match the script.
    pub fn is_equal(&self) -> bool {
        !self.rows.is_empty()
            && self.rows.iter().all(|row| row.whole.is_none() && row.wrong.iter().all(Option::is_none))
    }
}

/// How a call differs from the script, if it does.
fn unlike_script(scenario: &Scenario, essence: &Value) -> Option<String> {
    let (ended, questions) = (&essence["ended"], &essence["asked"]);
    let asked = questions.as_array().map_or(0, Vec::len);
    for question in questions.as_array().into_iter().flatten() {
        let wanted = json!({"dev.portcullis/source": {"plugin": "ask"}, "dev.portcullis/correlationId": scenario.name});
        if question["params"]["_meta"] != wanted {
            return Some(format!("a question says {} of itself instead of {wanted}", question["params"]["_meta"]));
        }
    }
    for (place, wanted) in scenario.shows {
        let shown = questions.pointer(place).map(Value::to_string).unwrap_or_default();
        if shown != *wanted {
            return Some(format!("{place} of the questions is {shown} instead of {wanted}"));
        }
    }
    let good = match scenario.ends {
        Ends::Text(text, times) => {
            let correlated = ended["_meta"]["dev.portcullis/correlationId"] == scenario.name;
            ended["content"][0]["text"] == text && ended["isError"] != true && correlated && asked == times
        }
        Ends::GivenUp => ended == "given up" && asked == 1,
        Ends::Unable(what) => ended["unable"] == what && asked == 0,
    };
    (!good).then(|| format!("ended as {ended} after {asked} questions, instead of {:?}", scenario.ends))
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<Vec<String>> = vec![["client", "revision", "transport"].map(str::to_owned).to_vec()];
        lines[0].extend(SCRIPT.iter().map(|scenario| scenario.name.to_owned()));
        for row in &self.rows {
            let cells = row.wrong.iter().map(|wrong| if wrong.is_none() { "ok" } else { "differs" }.to_owned());
            lines.push(row.title.iter().cloned().chain(cells).collect());
        }
        for line in &lines {
            for (column, cell) in line.iter().enumerate() {
                let width = lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
                write!(out, "{cell:width$}  ")?;
            }
            writeln!(out)?;
        }
        writeln!(out)?;
        for row in &self.rows {
            let title = row.title.join(", ");
            for (scenario, wrong) in SCRIPT.iter().zip(&row.wrong) {
                if let Some(wrong) = wrong {
                    writeln!(out, "{title}, {}: {wrong}", scenario.name)?;
                }
            }
            if let Some(whole) = &row.whole {
                writeln!(out, "{title}: {whole}")?;
            }
        }
        let verdict = if self.is_equal() { "All transcripts are equal" } else { "The transcripts are NOT equal" };
        writeln!(out, "{verdict}, apart from what may differ:")?;
        for (what, why) in DIFFERENCES {
            writeln!(out, "  {what}: {why}")?;
        }
        Ok(())
    }
}
