//! What a tested call did, compared with what was expected.

use super::script::{Seen, lines as lines_of};
use plugins::calls::{Answer, FinishedCall};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use std::collections::BTreeMap;
use std::time::Duration;
use toml_edit::{DocumentMut, Item, Table, value};

/// Units of fuel to which a measured ceiling is rounded up, so that a small change of the plugin does not break it.
const FUEL_STEP: u64 = 100_000;

/// How long the shortest difference is searched for, and how many lines of it are shown. Output that is large and different
/// each time could otherwise take minutes to compare, and fill the terminal.
const DIFF_TIME: Duration = Duration::from_secs(2);
const DIFF_LINES: usize = 1_000;

const COMPARED: [&str; 3] = ["text", "structured", "error"];
const COMPARED_LISTS: [&str; 4] = ["chunks", "asked", "called", "sent"];

/// What a call did, by the keys of `expect`. Keys without a value are left out.
pub(super) struct TestedOutcome(BTreeMap<&'static str, Value>);

impl TestedOutcome {
    pub(super) fn new(finished: &FinishedCall<Answer>, seen: &Seen) -> Self {
        let mut found = BTreeMap::new();
        let mut add = |key, value: Value| {
            found.insert(key, value);
        };
        for (key, list) in
            [("chunks", &seen.chunks), ("asked", &seen.asked), ("called", &seen.called), ("sent", &seen.sent)]
        {
            if !list.is_empty() {
                add(key, json!(list));
            }
        }
        match &finished.result {
            Ok(answer) => {
                let text = lines_of(&answer.content);
                match &answer.structured {
                    Some(structured) => add("structured", serde_json::from_str(&structured.text).unwrap_or_default()),
                    None => add("text", json!(text)),
                }
                if answer.is_error {
                    add("error", json!("tool-error"));
                }
            }
            Err(error) => {
                add("text", json!(error.to_string()));
                add("error", json!(error.code()));
            }
        }
        if let Some(fuel) = finished.usage.spent.fuel {
            add("fuel", json!(fuel));
        }
        Self(found)
    }

    /// Everything that is compared, with an empty value where there is none. Without the fuel, which is only an upper limit.
    pub(super) fn everything(&self) -> BTreeMap<String, Value> {
        let nothing = |key| if COMPARED_LISTS.contains(&key) { json!([]) } else { json!("") };
        let all = COMPARED.into_iter().chain(COMPARED_LISTS);
        all.map(|key| (key.to_owned(), self.0.get(key).cloned().unwrap_or_else(|| nothing(key)))).collect()
    }

    /// Where it differs from what was expected, as text for a person; empty if it does not.
    pub(super) fn differences(&self, expected: &BTreeMap<String, Value>) -> String {
        expected.iter().map(|(key, expected)| self.difference(key, expected)).collect()
    }

    fn difference(&self, key: &str, expected: &Value) -> String {
        let found = self.0.get(key);
        match key {
            "fuel" => match (expected.as_u64(), found.and_then(Value::as_u64)) {
                (Some(most), Some(used)) if used <= most => String::new(),
                (Some(most), Some(used)) => format!("  fuel: used {used}, at most {most} expected\n"),
                (None, _) => "  fuel: expected must be a number\n".into(),
                (_, None) => String::new(),
            },
            key if COMPARED.contains(&key) || COMPARED_LISTS.contains(&key) => {
                let expected = normal(key, expected);
                // An expected empty value matches a missing key.
                let nothing = if expected.is_array() { json!([]) } else { json!("") };
                let found = found.cloned().unwrap_or(nothing);
                if expected == found {
                    return String::new();
                }
                format!("  {key}:\n{}", diff(&lines(&expected), &lines(&found)))
            }
            _ => format!(
                "  `{key}` is no key of `expect`; there are chunks, asked, called, sent, text, structured, error and fuel\n"
            ),
        }
    }

    /// Writes the outcome into the transcript, in place of what was expected of this call.
    pub(super) fn write(&self, document: &mut DocumentMut, at: usize) -> anyhow::Result<()> {
        let calls = document.get_mut("call").and_then(Item::as_array_of_tables_mut);
        let call = calls.and_then(|calls| calls.get_mut(at));
        let call = call.ok_or_else(|| anyhow::anyhow!("`--update` needs calls written as [[call]]"))?;
        let mut table = Table::new();
        for key in COMPARED.into_iter().chain(COMPARED_LISTS).chain(["fuel"]) {
            let Some(found) = self.0.get(key) else { continue };
            table.insert(
                key,
                match key {
                    "structured" => value(serde_json::to_string_pretty(found)?),
                    "fuel" => value(i64::try_from(found.as_u64().unwrap_or_default().next_multiple_of(FUEL_STEP))?),
                    _ => match found {
                        Value::Array(items) => {
                            let items = items.iter().filter_map(Value::as_str);
                            value(items.collect::<toml_edit::Array>())
                        }
                        other => value(other.as_str().unwrap_or_default()),
                    },
                },
            );
        }
        call.insert("expect", Item::Table(table));
        Ok(())
    }
}

/// `structured` may be written as JSON text, since TOML has no null.
fn normal(key: &str, expected: &Value) -> Value {
    match (key, expected) {
        ("structured", Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| expected.clone()),
        _ => expected.clone(),
    }
}

fn lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone() + "\n",
        Value::Array(items) => items.iter().map(lines).collect(),
        other => serde_json::to_string_pretty(other).unwrap_or_default() + "\n",
    }
}

fn diff(expected: &str, found: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(expected, found);
    let line = |change: similar::Change<&str>| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        format!("    {sign} {}\n", platform::telemetry::printable(change.value().trim_end_matches('\n')))
    };
    let mut changes = diff.iter_all_changes();
    let mut shown: String = changes.by_ref().take(DIFF_LINES).map(line).collect();
    let left = changes.count();
    if left > 0 {
        shown += &format!("    ... and {left} more lines\n");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_without_end_is_cut() {
        let lines = |seed: u64| -> String {
            let next = |at: u64| at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed).rotate_left(17) % 97;
            (0..300_000).map(|at| format!("{}\n", next(at))).collect()
        };
        let told = diff(&lines(1), &lines(77));
        assert_eq!(told.lines().count(), DIFF_LINES + 1);
        assert!(told.lines().last().is_some_and(|line| line.ends_with(" more lines")), "{told}");
        assert_eq!(diff("a\nb\n", "a\nc\n"), "      a\n    - b\n    + c\n");
    }
}
