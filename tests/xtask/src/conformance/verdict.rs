//! Turns the suite's checks into one verdict for each scenario.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::transport::Transport;

/// Checks that must have succeeded: the suite only prints a remark when a server did not trigger them.
const MUST_SUCCEED: &[(&str, &str)] = &[
    ("server-sse-polling", "server-sse-disconnect-resume"),
    ("server-session-lifecycle", "server-session-terminated-returns-404"),
];

/// Characters of a reason that are shown; the results have the rest.
const SHOWN: usize = 400;

/// The verdict on a scenario.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Passed,
    /// What was wrong, check by check.
    Failed(Vec<String>),
    /// It failed, as the baseline expects.
    Expected,
    /// It passed, although the baseline expects a failure.
    Stale,
    /// It does not apply to this transport; holds the reason.
    NotApplicable(&'static str),
}

/// The scenarios that are known to fail.
pub(super) struct Baseline(Vec<String>);

impl Verdict {
    /// Reads the checks that the suite wrote to `results`.
    pub(super) fn of(scenario: &str, results: &Path, transport: Transport, baseline: &Baseline) -> Result<Self> {
        if let Some(why) = transport.spares(scenario, None) {
            return Ok(Self::NotApplicable(why));
        }
        let wrong = match checks(scenario, results)? {
            Some(checks) => wrong(scenario, &checks, transport),
            None => vec!["the suite did not finish it".to_owned()],
        };
        Ok(match (wrong.is_empty(), baseline.has(scenario)) {
            (true, false) => Self::Passed,
            (true, true) => Self::Stale,
            (false, true) => Self::Expected,
            (false, false) => Self::Failed(wrong),
        })
    }

    pub(super) fn is_bad(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Stale)
    }
}

impl Baseline {
    /// Reads the part of the suite's own format that is used here: names below `server:`.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self(text.lines().filter_map(|line| line.trim_start().strip_prefix("- ")).map(str::to_owned).collect()))
    }

    fn has(&self, scenario: &str) -> bool {
        self.0.iter().any(|name| name == scenario)
    }

    /// Baseline entries that name none of these scenarios.
    pub(super) fn unused(&self, scenarios: &[&str]) -> Vec<String> {
        self.0.iter().filter(|name| !scenarios.contains(&name.as_str())).cloned().collect()
    }
}

/// The checks of one scenario; none when it stopped before it wrote them.
fn checks(scenario: &str, results: &Path) -> Result<Option<Vec<Value>>> {
    // The suite names folders `server-<scenario>-<time>`.
    let prefix = format!("server-{scenario}-");
    for entry in fs::read_dir(results).with_context(|| format!("cannot read {}", results.display()))? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let time = name.strip_prefix(&prefix).unwrap_or_default();
        let file = folder.join("checks.json");
        if time.starts_with("20") && time.ends_with('Z') && file.exists() {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            return serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()));
        }
    }
    Ok(None)
}

/// The checks that failed.
fn wrong(scenario: &str, checks: &[Value], transport: Transport) -> Vec<String> {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    let mut succeeded = Vec::new();
    for check in checks {
        let id = text(check, "id");
        if transport.spares(scenario, Some(&id)).is_some() {
            continue;
        }
        match text(check, "status").as_str() {
            "SUCCESS" => succeeded.push(id),
            "INFO" => {}
            status => {
                let why = [text(check, "errorMessage"), check["details"].to_string()];
                let why = why.iter().find(|why| !why.is_empty()).map(String::as_str).unwrap_or_default();
                wrong.push(format!("{} {id}: {}", status.to_lowercase(), why.chars().take(SHOWN).collect::<String>()));
            }
        }
    }
    let missing = MUST_SUCCEED.iter().filter(|(of, check)| *of == scenario && !succeeded.iter().any(|id| id == check));
    wrong.extend(missing.map(|(_, check)| format!("{check}: the server gave no occasion for it")));
    if wrong.is_empty() && succeeded.is_empty() {
        wrong.push("no check succeeded".to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(id: &str, status: &str) -> Value {
        json!({ "id": id, "status": status, "errorMessage": "why" })
    }

    #[test]
    fn warnings_and_skipped_checks_are_failures_and_remarks_are_not_success() {
        let wrong = |checks: &[Value]| wrong("a", checks, Transport::Http);
        assert_eq!(wrong(&[check("x", "SUCCESS"), check("y", "INFO")]), [""; 0]);
        assert_eq!(wrong(&[check("x", "SUCCESS"), check("y", "WARNING")]), ["warning y: why"]);
        assert_eq!(wrong(&[check("x", "SUCCESS"), check("y", "SKIPPED")]), ["skipped y: why"]);
        assert_eq!(wrong(&[check("y", "INFO")]), ["no check succeeded"]);
    }

    #[test]
    fn some_checks_must_have_succeeded() {
        let checks = [check("server-sse-priming-event", "SUCCESS"), check("server-sse-disconnect-resume", "INFO")];
        assert_eq!(wrong("server-sse-polling", &checks, Transport::Http).len(), 1);
    }

    #[test]
    fn a_check_about_headers_is_spared_over_stdio_only() {
        let checks = [check("sep-2575-http-server-header-mismatch-400", "FAILURE"), check("sep-2575-other", "SUCCESS")];
        assert_eq!(wrong("server-stateless", &checks, Transport::Http).len(), 1);
        assert_eq!(wrong("server-stateless", &checks, Transport::Stdio), [""; 0]);
    }
}
