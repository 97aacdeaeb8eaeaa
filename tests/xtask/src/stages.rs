//! What `cargo xtask test` spends its time on: its stages and the longer steps in them, on the wall clock and on the processors.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

/// Steps that took less are not in the table.
const WORTH_A_LINE: Duration = Duration::from_secs(5);
/// The kernel tells processor time in hundredths of a second, on all systems that Rust runs on.
const TICKS: f64 = 100.0;

/// The steps of the stage that runs. Steps are announced everywhere, so that they have one place.
static STEPS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

/// A line of the table.
struct Row {
    name: String,
    took: Duration,
    /// Of all processes that have ended meanwhile, also of a step beside it; none where the system does not tell.
    computed: Option<Duration>,
}

/// Measures one stage or step.
pub(crate) struct Measured {
    began: Instant,
    computed: Option<Duration>,
}

impl Measured {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), computed: computed() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn end(self, name: &str) -> Row {
        let computed = computed().zip(self.computed).map(|(now, then)| now.saturating_sub(then));
        Row { name: name.to_owned(), took: self.began.elapsed(), computed }
    }
}

/// Keeps what a step took, for the table.
pub(crate) fn note(step: &str, measured: Measured) {
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push(measured.end(step));
}

/// The stages of a run, in their order.
pub(crate) struct Stages {
    whole: Measured,
    rows: Vec<(Row, Vec<Row>)>,
}

impl Stages {
    pub(crate) fn begin() -> Self {
        Self { whole: Measured::begin(), rows: Vec::new() }
    }

    /// Announces a stage and runs it. It is in the table also if it fails.
    pub(crate) fn run<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n== {name}");
        let measured = Measured::begin();
        let done = work();
        let mut steps = std::mem::take(&mut *STEPS.lock().unwrap_or_else(PoisonError::into_inner));
        steps.retain(|step| step.took >= WORTH_A_LINE);
        self.rows.push((measured.end(name), steps));
        done
    }

    /// The table, with the whole as its last line.
    pub(crate) fn table(self) -> String {
        let whole = self.whole.end("all");
        let mut lines = vec![format!("{:<58} {:>9} {:>11}", "stage", "seconds", "processors")];
        for (stage, steps) in &self.rows {
            lines.push(line("", stage));
            lines.extend(steps.iter().map(|step| line("  ", step)));
        }
        lines.push(line("", &whole));
        lines.join("\n")
    }
}

fn line(indent: &str, row: &Row) -> String {
    let computed = row.computed.map_or_else(|| "?".to_owned(), |time| format!("{:.0}", time.as_secs_f64()));
    format!("{:<58} {:>9.0} {computed:>11}", format!("{indent}{}", row.name), row.took.as_secs_f64())
}

/// Processor time of all that this process has started and waited for; not its own, where loops may keep processors busy.
fn computed() -> Option<Duration> {
    times("self").map(|[.., user, system]| user + system)
}

/// Processor time of a process and of all that it has started and waited for.
pub(crate) fn computed_by(process: u32) -> Option<Duration> {
    times(&process.to_string()).map(|times| times.iter().sum())
}

/// What a process has computed, for itself and in the kernel, and what its children have. See `proc_pid_stat(5)`.
fn times(process: &str) -> Option<[Duration; 4]> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name may have spaces. After it come the state and 10 more fields, then these four.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
    let times =
        fields.map(|ticks| ticks.parse::<u32>().ok().map(|ticks| Duration::from_secs_f64(f64::from(ticks) / TICKS)));
    times.collect::<Option<Vec<_>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_stages_and_their_longer_steps() {
        let mut stages = Stages::begin();
        let row =
            |name: &str, seconds| Row { name: name.to_owned(), took: Duration::from_secs(seconds), computed: None };
        stages.rows.push((row("set-up", 70), vec![row("building plugins", 60)]));
        let failed: Result<()> = stages.run("tests", || anyhow::bail!("some fail"));
        assert!(failed.is_err());
        let table = stages.table();
        let names: Vec<_> = table.lines().map(|line| line[..58].trim_end()).collect();
        assert_eq!(names, ["stage", "set-up", "  building plugins", "tests", "all"]);
        assert!(table.contains("building plugins") && table.contains(" 60           ?"), "{table}");
    }
}
