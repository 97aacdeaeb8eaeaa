//! A table of all verdicts, followed by the failures and the totals.

use std::fmt::Write;

use super::requirements::Requirements;
use super::verdict::Verdict;

const HEADING: &str = "scenario";

/// A scenario's verdict at every revision; none where the revision does not have it.
pub(super) struct Row {
    pub(super) scenario: String,
    pub(super) verdicts: Vec<Option<Verdict>>,
}

pub(super) fn of(rows: &[Row], sets: &[Requirements]) -> String {
    let names = rows.iter().map(|row| row.scenario.as_str()).chain([HEADING]);
    let width = names.map(str::len).max().unwrap_or_default();
    let mut text = String::new();
    let mut line = |name: &str, cells: Vec<&str>| {
        let cells: String = cells.iter().map(|cell| format!("  {cell:<14}")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", format!("{name:<width$}{cells}").trim_end());
    };
    line(HEADING, sets.iter().map(|set| set.revision).collect());
    for row in rows {
        line(&row.scenario, row.verdicts.iter().map(word).collect());
    }
    for row in rows {
        for (set, verdict) in sets.iter().zip(&row.verdicts) {
            let Some(Verdict::Failed(reasons)) = verdict else { continue };
            let _ = write!(text, "\n{} at {}:", row.scenario, set.revision);
            reasons.iter().for_each(|reason| text.push_str(&format!("\n  {reason}")));
            text.push('\n');
        }
    }
    text.push('\n');
    for (at, set) in sets.iter().enumerate() {
        let verdicts = |names: &[String]| {
            let of = |name: &String| rows.iter().find(|row| row.scenario == *name)?.verdicts[at].as_ref();
            total(names.iter().filter_map(of).collect())
        };
        let _ = writeln!(
            text,
            "{}: required {}; others {}",
            set.revision,
            verdicts(&set.required),
            verdicts(&set.unscored)
        );
    }
    text
}

fn word(verdict: &Option<Verdict>) -> &'static str {
    match verdict {
        None => "-",
        Some(Verdict::Passed) => "passed",
        Some(Verdict::Failed(_)) => "FAILED",
        Some(Verdict::Expected) => "expected fail",
        Some(Verdict::Stale) => "STALE",
        Some(Verdict::NotApplicable(_)) => "HTTP only",
    }
}

/// Formats `36/37` and how many do not apply or may fail.
fn total(verdicts: Vec<&Verdict>) -> String {
    let count = |like: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| like(verdict)).count();
    let spared = count(|verdict| matches!(verdict, Verdict::NotApplicable(_)));
    let passed = count(|verdict| matches!(verdict, Verdict::Passed | Verdict::Stale));
    let mut text = format!("{passed}/{}", verdicts.len() - spared);
    for (number, what) in
        [(count(|verdict| *verdict == Verdict::Expected), "fail as expected"), (spared, "are HTTP only")]
    {
        if number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_verdicts_reasons_and_totals() {
        let rows = [
            Row { scenario: "good".into(), verdicts: vec![Some(Verdict::Passed)] },
            Row { scenario: "bad".into(), verdicts: vec![Some(Verdict::Failed(vec!["failure x: why".into()]))] },
            Row { scenario: "later".into(), verdicts: vec![Some(Verdict::Expected)] },
        ];
        let set = Requirements {
            revision: "2026-07-28",
            required: vec!["good".into(), "bad".into()],
            unscored: vec!["later".into()],
        };
        let text = of(&rows, &[set]);
        assert!(text.contains("good      passed\n"), "{text}");
        assert!(text.contains("bad at 2026-07-28:\n  failure x: why\n"), "{text}");
        assert!(text.ends_with("2026-07-28: required 1/2; others 0/1, 1 fail as expected\n"), "{text}");
    }
}
