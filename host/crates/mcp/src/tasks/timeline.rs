//! The timeline of a task's call, made from its journal: what the call did and waited for, and when.

use crate::tasks::records::asked::{AskedQuestions, AskingStep};
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::{TaskRecord, TaskState};
use crate::tasks::records::samples::Sample;
use platform::durable::{DurableError, DurableStore};
use runtime::journal::{Entry, JournalLog, Phase};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};

#[cfg(test)]
mod tests;

/// Steps of a timeline, not counting the callers of listed steps. Bounds what is stored for a call that makes very many steps.
const MOST: usize = 500;
/// Records that are processed in one go. Bounds how long others wait for the thread.
const MOST_AT_ONCE: usize = 500;
/// Imports whose steps are left out: they tell nothing about the call, and a call that polls for messages has them between any
/// two other steps.
const LEFT_OUT: [&str; 3] = ["clocks.", "random.", "steering.next"];
/// Imports whose name begins like this wait for somebody outside of the host. So does a call of another tool, unless one of its
/// steps is known.
const WAITS: [&str; 8] = [
    "agent-tools.call",
    ASK,
    "connections.connected",
    "connections.send",
    "connections.wait",
    "http.handle",
    POLL,
    "steering.receive",
];
const ASK: &str = "client.ask";
/// The import in which a guest waits that waits for anything.
const POLL: &str = "poll.block";

/// The steps of a call and of the calls that it made: each step comes before the steps of the call that it made, and steps of
/// one call are in the order in which they began. All times are milliseconds since 1970, all lengths are milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeline {
    /// When the task was created, or its call began, whichever is earlier.
    pub begins: u64,
    /// The end of the task, or the time when this was made.
    pub until: u64,
    /// The part of that time in which some step waited for somebody outside. There may be more waits, of which nothing is
    /// recorded.
    pub waited: u64,
    pub steps: Vec<TimelineStep>,
    /// Steps that are not listed.
    pub more: u64,
    /// How many of the listed steps are before those that are not.
    pub more_after: u64,
    /// What the call had used and held at some moments. Each sample holds until the next one.
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineStep {
    /// The number of the step in its call, after the numbers of the steps that made this call.
    pub step: String,
    /// How many calls are above the call of this step.
    pub depth: u32,
    /// For instance `client.ask`.
    pub import: String,
    /// The tool that it calls, or the host or connection that it asks.
    pub name: Option<String>,
    pub begins: u64,
    /// None if no end is recorded.
    pub ends: Option<u64>,
    /// How long it took, or has taken so far; the sum, if `times` is more than one.
    pub took: u64,
    /// How many equal steps in a row this one stands for.
    pub times: u64,
    /// Whether it waits for somebody outside.
    pub waits: bool,
}

/// A step, and its sort key: each number of its path gives an odd number, which leaves an even one for what comes before it.
struct Row(Vec<u64>, TimelineStep);

impl Timeline {
    /// The timeline of a task whose steps are still stored, until a time in milliseconds since 1970. Has no samples.
    pub(super) async fn read(
        store: &dyn DurableStore,
        id: &str,
        record: &TaskRecord,
        until: u64,
    ) -> Result<Self, DurableError> {
        let (Some(journal), Some(asked)) = (Part::Journal.key(id), Part::Asked.key(id)) else {
            return Ok(Self::default());
        };
        let steps = JournalLog::read(store, &journal).await?.entries;
        let few = steps.len() <= MOST_AT_ONCE;
        let asked = store.get(&asked).await?.and_then(|asked| AskedQuestions::from_bytes(&asked.value).ok());
        let (asked, created) = (asked.unwrap_or_default(), record.created);
        let open: HashSet<String> = match &record.state {
            TaskState::InputRequired { requests } => requests.keys().cloned().collect(),
            _ => HashSet::new(),
        };
        let make = move || Self::new(&steps, created, until, &asked.steps(|key| open.contains(key)));
        if few {
            return Ok(make());
        }
        tokio::task::spawn_blocking(make).await.map_err(|error| DurableError::Failed(error.to_string()))
    }

    /// `created` and `until` are times of the task. `asking` are the steps that ask questions: a question without an answer is
    /// in no journal.
    pub(super) fn new(records: &[Vec<u8>], created: u64, until: u64, asking: &[AskingStep<'_>]) -> Self {
        let mut rows = rows(records);
        add_questions(&mut rows, asking);
        rows.sort_by(|Row(one, _), Row(two, _)| one.cmp(two));
        let begins = rows.iter().map(|Row(_, step)| step.begins).min().map_or(created, |first| first.min(created));
        let waited = complete(&mut rows, until.max(begins));
        let (steps, more, more_after) = shorten(merge(rows));
        Self { begins, until: until.max(begins), waited, steps, more, more_after, samples: Vec::new() }
    }
}

impl Row {
    fn new(
        place: Vec<u64>,
        step: String,
        import: &str,
        name: Option<String>,
        (begins, ends): (u64, Option<u64>),
    ) -> Self {
        let depth = u32::try_from(place.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let import = import.to_owned();
        Self(place, TimelineStep { step, depth, import, name, begins, ends, times: 1, ..TimelineStep::default() })
    }
}

/// Makes a row for each step in the journal.
fn rows(records: &[Vec<u8>]) -> Vec<Row> {
    let (mut rows, mut open) = (Vec::new(), HashMap::<String, usize>::new());
    for entry in records.iter().filter_map(|record| Entry::decode(record)) {
        let took = match &entry.phase {
            Phase::Began | Phase::BeganOnce => 0,
            Phase::Ended(_) => u64::from(entry.remark.took),
            Phase::Opened | Phase::GaveUp(_) => continue,
        };
        let place: Vec<u64> = entry.path.numbers().iter().map(|number| 2 * u64::from(*number) + 1).collect();
        let begins = entry.at.saturating_sub(took);
        let name = entry.remark.name.clone();
        let mut add = |place: Vec<u64>, import: &str, name, begins, ends| {
            let step = place.iter().map(|number| number.div_ceil(2).to_string()).collect::<Vec<_>>().join(".");
            rows.push(Row::new(place, step, import, name, (begins, ends)));
            rows.len() - 1
        };
        if entry.remark.polled > 0
            && let Some((last, above)) = place.split_last()
        {
            let before = [above, &[last - 1]].concat();
            add(before, POLL, None, begins.saturating_sub(entry.remark.polled.into()), Some(begins));
        }
        if LEFT_OUT.iter().any(|left_out| entry.import.starts_with(left_out)) {
            continue;
        }
        match (entry.phase, open.remove(&entry.path.to_string())) {
            (Phase::Began | Phase::BeganOnce, _) => {
                let at = add(place, &entry.import, name, begins, None);
                open.insert(entry.path.to_string(), at);
            }
            (_, Some(at)) => rows[at].1.ends = Some(entry.at),
            (_, None) => drop(add(place, &entry.import, name, begins, Some(entry.at))),
        }
    }
    rows
}

/// A question waits from the time when it was first asked, even if its call was begun again since.
fn add_questions(rows: &mut Vec<Row>, asking: &[AskingStep<'_>]) {
    let asks = |Row(_, step): &Row| step.import.starts_with(ASK);
    let known: HashMap<String, usize> =
        (0..rows.len()).filter(|at| asks(&rows[*at])).map(|at| (rows[at].1.step.clone(), at)).collect();
    for AskingStep { step, since, is_open } in asking {
        if let Some(at) = known.get(*step) {
            let begins = &mut rows[*at].1.begins;
            *begins = (*begins).min(*since);
            continue;
        }
        let odd = |number: &str| (2 * u64::from(number.parse::<u32>().ok()?)).checked_sub(1);
        let place: Option<Vec<u64>> = step.split('.').map(odd).collect();
        if let Some(place) = place.filter(|_| *is_open) {
            rows.push(Row::new(place, (*step).to_owned(), ASK, None, (*since, None)));
        }
    }
}

/// Fills in what follows from the other steps. Returns how long at least one step waited.
fn complete(rows: &mut [Row], until: u64) -> u64 {
    let (mut waits, mut above) = (Vec::new(), Vec::<(Vec<u64>, u64)>::new());
    for at in 0..rows.len() {
        let has_steps =
            rows.get(at + 1).is_some_and(|next| next.0.len() > rows[at].0.len() && next.0.starts_with(&rows[at].0));
        let Row(place, step) = &mut rows[at];
        above.retain(|(caller, _)| place.starts_with(caller));
        // The clock may have been set back.
        step.begins = above.iter().map(|(_, begins)| *begins).max().unwrap_or_default().max(step.begins);
        above.push((place.clone(), step.begins));
        let ends = step.ends.unwrap_or(until).max(step.begins);
        step.ends = step.ends.map(|_| ends);
        step.took = ends - step.begins;
        step.waits = !has_steps && WAITS.iter().any(|waits| step.import.starts_with(waits));
        if step.waits {
            waits.push((step.begins, ends));
        }
    }
    waits.sort_unstable();
    let mut known = 0;
    waits.into_iter().fold(0, |waited, (begins, ends)| {
        let more = ends.saturating_sub(begins.max(known));
        known = known.max(ends);
        waited + more
    })
}

/// Merges equal steps that follow each other.
fn merge(rows: Vec<Row>) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::new();
    for Row(place, step) in rows {
        if let Some(Row(last_place, last)) = merged.last_mut()
            && last_place.split_last().map(|(_, call)| call) == place.split_last().map(|(_, call)| call)
            && (last.import == step.import && last.name.is_none() && step.name.is_none())
            && (last.ends.is_some() && step.ends.is_some())
        {
            (last.ends, last.took, last.times) = (step.ends, last.took + step.took, last.times + step.times);
            continue;
        }
        merged.push(Row(place, step));
    }
    merged
}

/// The first and the last steps, with the callers of these; how many steps are left out, and after how many.
fn shorten(rows: Vec<Row>) -> (Vec<TimelineStep>, u64, u64) {
    let all = rows.len();
    if all <= MOST {
        return (rows.into_iter().map(|Row(_, step)| step).collect(), 0, 0);
    }
    let last = all - MOST / 2;
    let above: BTreeSet<&[u64]> =
        rows[last..].iter().flat_map(|Row(place, _)| (1..place.len()).map(|length| &place[..length])).collect();
    let keeps = |at: usize| at < MOST / 2 || at >= last || above.contains(&*rows[at].0);
    let kept: Vec<bool> = (0..all).map(keeps).collect();
    let steps: Vec<_> = rows.into_iter().zip(kept).filter(|(_, keeps)| *keeps).map(|(Row(_, step), _)| step).collect();
    let more = (all - steps.len()) as u64;
    (steps, more, (MOST / 2) as u64)
}
