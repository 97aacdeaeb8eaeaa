//! The timeline of a task as lines of text, of at most 100 columns.

use super::repeats::put_together;
use crate::cli::text::group_digits;
use bytesize::ByteSize;
use mcp::{Sample, Timeline, TimelineStep};
use platform::telemetry::printable;
use platform::text::truncate_chars;

/// Columns of a bar. Each stands for the same part of the task's time.
const CELLS: u64 = 32;
/// Columns of the name of a step, with its indent.
const NAME: usize = 40;
/// Most columns by which a step is indented for the calls above it.
const MOST_INDENT: usize = 16;
const WORKS: char = '█';
const WAITS: char = '░';
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is above the steps, the steps, and what is below them: each as lines.
pub(super) struct Picture {
    pub(super) head: Vec<String>,
    pub(super) steps: Vec<String>,
    pub(super) foot: Vec<String>,
}

/// The time of a task, divided into cells.
struct Scale {
    begins: u64,
    length: u64,
}

impl Picture {
    /// `tool` is what the task calls.
    pub(super) fn new(tool: &str, timeline: &Timeline) -> Self {
        if timeline.steps.is_empty() && timeline.samples.is_empty() {
            let head = vec!["timeline   nothing is recorded of what its call did".to_owned()];
            return Self { head, steps: Vec::new(), foot: Vec::new() };
        }
        let timeline = &put_together(timeline);
        let length = timeline.until.saturating_sub(timeline.begins);
        let scale = Scale { begins: timeline.begins, length: length.max(1) };
        let waited = span(timeline.waited.min(length));
        let all: Vec<_> = timeline.steps.iter().filter(|step| step.waits).collect();
        let bar = scale.bar(timeline.begins, timeline.until, &all, timeline.until);
        let head = vec![
            format!("timeline   {} in all; {waited} of it is known to be waiting ({WAITS})", span(length)),
            row(&span(0), &span(length), &bar, tool, 0),
        ];
        let mut steps: Vec<_> = (0..timeline.steps.len()).map(|at| step_line(timeline, at, &scale)).collect();
        if timeline.more > 0 {
            let at = usize::try_from(timeline.more_after).unwrap_or(usize::MAX).min(steps.len());
            steps.insert(at, format!("  and {} more steps", timeline.more));
        }
        Self { head, steps, foot: usage(&timeline.samples, &scale) }
    }

    pub(super) fn into_lines(self) -> impl Iterator<Item = String> {
        self.head.into_iter().chain(self.steps).chain(self.foot)
    }
}

fn step_line(timeline: &Timeline, at: usize, scale: &Scale) -> String {
    let step = &timeline.steps[at];
    let below = timeline.steps[at + 1..].iter().take_while(|below| below.depth > step.depth);
    let waits: Vec<_> = std::iter::once(step).chain(below).filter(|step| step.waits).collect();
    let bar = scale.bar(step.begins, step.ends.unwrap_or(timeline.until), &waits, timeline.until);
    let name = step.name.as_deref().map(|name| format!(" {}", printable(name))).unwrap_or_default();
    let times = if step.times > 1 { format!(" x{}", step.times) } else { String::new() };
    let what = format!("{}{name}{times}", printable(&step.import));
    let took = if step.ends.is_some() { span(step.took) } else { format!("{} …", span(step.took)) };
    let depth = usize::try_from(step.depth).unwrap_or(usize::MAX).saturating_add(1);
    row(&span(step.begins.saturating_sub(timeline.begins)), &took, &bar, &what, depth)
}

fn row(begins: &str, length: &str, bar: &str, what: &str, depth: usize) -> String {
    let indent = depth.saturating_mul(2).min(MOST_INDENT);
    let what = shorten(&printable(what), NAME - indent);
    format!("  {begins:>10}  {length:>10}  {bar}  {:indent$}{what}", "").trim_end().to_owned()
}

/// Shortens a text that does not fit, and marks the cut with an ellipsis.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    match text.chars().nth(columns) {
        Some(_) => format!("{}…", truncate_chars(text, columns.saturating_sub(1))),
        None => text.to_owned(),
    }
}

impl Scale {
    /// The time at which a cell begins, in milliseconds.
    fn cell(&self, at: u64) -> u64 {
        let passed = u128::from(self.length) * u128::from(at) / u128::from(CELLS);
        self.begins.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// A bar over a span of time in which the steps `waits` wait. A span that is shorter than a cell still has one.
    fn bar(&self, begins: u64, ends: u64, waits: &[&TimelineStep], until: u64) -> String {
        let mut has_begun = false;
        let cells = (0..CELLS).map(|at| {
            let (from, to) = (self.cell(at), self.cell(at + 1).max(self.cell(at) + 1));
            let is_first = !has_begun && begins < to;
            let is_last_place = at + 1 == CELLS && !has_begun;
            if !(is_first || is_last_place || (has_begun && ends > from)) {
                return ' ';
            }
            has_begun = true;
            let (from, to) = (from.max(begins), to.min(ends).max(from.max(begins)));
            let waited: u64 = waits
                .iter()
                .map(|step| step.ends.unwrap_or(until).min(to).saturating_sub(step.begins.max(from)))
                .fold(0, u64::saturating_add);
            let is_only_wait =
                waits.first().is_some_and(|step| (step.begins, step.ends.unwrap_or(until)) == (begins, ends));
            if is_only_wait || waited.saturating_mul(2) > to - from { WAITS } else { WORKS }
        });
        cells.collect()
    }

    /// For each cell, the last value that is seen in it or before.
    fn values(&self, samples: &[Sample], value: impl Fn(&Sample) -> u64) -> Vec<Option<u64>> {
        let last = |at: u64| samples.iter().rev().find(|sample| sample.at <= self.cell(at + 1)).map(&value);
        (0..CELLS).map(last).collect()
    }
}

/// One line for fuel, if any was used, and one for memory.
fn usage(samples: &[Sample], scale: &Scale) -> Vec<String> {
    let Some(last) = samples.last() else { return Vec::new() };
    let most = samples.iter().map(|sample| sample.memory).max().unwrap_or_default();
    let line = |name: &str, value: fn(&Sample) -> u64, text: String| {
        let levels: String = scale.values(samples, value).into_iter().map(|it| level(it, samples, value)).collect();
        format!("  {name:22}  {levels}  {text}")
    };
    // Calls that are metered by CPU time have none.
    let fuel = (last.fuel > 0).then(|| line("fuel used", |it| it.fuel, format!("{} units", group_digits(last.fuel))));
    let memory = line("memory held", |sample| sample.memory, format!("{} at most", ByteSize(most)));
    fuel.into_iter().chain([memory]).collect()
}

fn level(value: Option<u64>, samples: &[Sample], of: fn(&Sample) -> u64) -> char {
    let Some(value) = value else { return ' ' };
    let most = samples.iter().map(of).max().unwrap_or_default().max(1);
    let level = u128::from(value) * (LEVELS.len() as u128 - 1) / u128::from(most);
    LEVELS[usize::try_from(level).unwrap_or_default().min(LEVELS.len() - 1)]
}

/// A length of time in at most eight columns.
pub(super) fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{:03} s", millis % 1_000),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
        86_400..86_400_000 => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
        _ => "> 999d".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(depth: u32, import: &str, times: (u64, Option<u64>), waits: bool) -> TimelineStep {
        let (begins, ends) = times;
        let took = ends.unwrap_or(9_000) - begins;
        TimelineStep { depth, import: import.into(), begins, ends, took, times: 1, waits, ..TimelineStep::default() }
    }

    fn lines(timeline: &Timeline) -> Vec<String> {
        Picture::new("job__only", timeline).into_lines().collect()
    }

    #[test]
    fn a_picture_shows_who_waited_when() {
        let sample = |at, fuel, memory| Sample { at, fuel, memory };
        let mut call = step(0, "agent-tools.call", (2_600, Some(6_600)), false);
        call.name = Some("a.\u{1b}[31mrun".into());
        let timeline = Timeline {
            begins: 1_000,
            until: 9_000,
            waited: 5_000,
            steps: vec![
                step(0, "state.get", (1_000, Some(1_001)), false),
                call,
                step(1, "http.handle", (3_600, Some(5_600)), true),
                step(0, "client.ask", (7_000, None), true),
            ],
            more: 7,
            more_after: 1,
            samples: vec![sample(1_000, 0, 1 << 20), sample(5_000, 700, 2 << 20), sample(8_000, 1_400, 0)],
        };
        let expected = "\
timeline   8.000 s in all; 5.000 s of it is known to be waiting (░)
     0.000 s     8.000 s  ██████████░░░░░░░░██████░░░░░░░░  job__only
     0.000 s     0.001 s  █                                   state.get
  and 7 more steps
     1.600 s     4.000 s        ████░░░░░░░░█████             agent-tools.call a.\\u{1b}[31mrun
     2.600 s     2.000 s            ░░░░░░░░░                   http.handle
     6.000 s   2.000 s …                          ░░░░░░░░    client.ask
  fuel used               ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▄▄▄▄▄▄▄▄▄▄▄▄█████  1_400 units
  memory held             ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄████████████▁▁▁▁▁  2.0 MiB at most";
        assert_eq!(lines(&timeline).join("\n"), expected);
    }

    #[test]
    fn no_line_is_longer_than_a_terminal() {
        let mut deep = step(4_000_000, &"x".repeat(500), (0, Some(u64::MAX)), true);
        (deep.name, deep.times) = (Some("é".repeat(500)), u64::MAX);
        let samples = vec![Sample { at: u64::MAX, fuel: u64::MAX, memory: u64::MAX }];
        let timeline =
            Timeline { until: u64::MAX, waited: u64::MAX, steps: vec![deep], samples, ..Timeline::default() };
        for line in Picture::new(&"y".repeat(300), &timeline).into_lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert_eq!(lines(&Timeline::default()), ["timeline   nothing is recorded of what its call did"]);
    }

    #[test]
    fn spans_are_short() {
        let shown = [0, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000, u64::MAX].map(span);
        assert_eq!(shown, ["0.000 s", "59.999 s", "1m 00s", "59m 59s", "1h 00m", "1d 01h", "> 999d"]);
    }
}
