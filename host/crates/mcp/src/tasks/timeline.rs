//! What the call of a task did and waited for, and when: made of its journal.

use runtime::journal::{Entry, Phase};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Steps of a timeline. Bounds what is stored of a call that makes very many.
const MOST: usize = 500;
/// What says nothing of a call's way, and is between any two other steps of one that looks for messages again and again.
const LEFT_OUT: [&str; 3] = ["clocks.", "random.", "steering."];

/// The steps of a call and of those that it made, in the order in which they began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    pub steps: Vec<TimelineStep>,
    /// Steps beyond those that are listed.
    pub more: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineStep {
    /// Its number, after those of the steps that made its call.
    pub step: String,
    /// Such as `client.ask`.
    pub import: String,
    /// Milliseconds since 1970. Of a step that only asks: when the step before it was recorded.
    pub begins: u64,
    /// None if no end is recorded.
    pub ends: Option<u64>,
    /// How often the same was done one after the other.
    pub times: u64,
}

impl Timeline {
    pub(super) fn new(records: &[Vec<u8>]) -> Self {
        let mut timeline = Self::default();
        let (mut open, mut last) = (HashMap::<String, usize>::new(), None);
        for entry in records.iter().filter_map(|record| Entry::decode(record)) {
            let is_step = matches!(entry.phase, Phase::Began | Phase::Ended(_));
            if !is_step || LEFT_OUT.iter().any(|left_out| entry.import.starts_with(left_out)) {
                continue;
            }
            let before = last.replace(entry.at).unwrap_or(entry.at);
            let step = entry.path.to_string();
            match entry.phase {
                Phase::Began => {
                    if timeline.add(&step, &entry.import, entry.at, None) {
                        open.insert(step, timeline.steps.len() - 1);
                    }
                }
                _ => match open.remove(&step) {
                    Some(at) => timeline.steps[at].ends = Some(entry.at),
                    None => drop(timeline.add(&step, &entry.import, before, Some(entry.at))),
                },
            }
        }
        timeline
    }

    /// Whether it has a place of its own.
    fn add(&mut self, step: &str, import: &str, begins: u64, ends: Option<u64>) -> bool {
        let depth = |step: &str| step.matches('.').count();
        if let Some(last) = self.steps.last_mut()
            && ends.is_some()
            && last.ends.is_some()
            && last.import == import
            && depth(&last.step) == depth(step)
        {
            (last.ends, last.times) = (ends, last.times + 1);
            return false;
        }
        if self.steps.len() == MOST {
            self.more += 1;
            return false;
        }
        self.steps.push(TimelineStep { step: step.into(), import: import.into(), begins, ends, times: 1 });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use runtime::journal::{Again, CallJournal};
    use std::sync::Arc;

    #[tokio::test]
    async fn waits_are_told_apart_and_repetitions_are_one_line() {
        let journal = CallJournal::in_memory(Arc::new(SystemClock));
        journal.begin("clocks.wall", &()).see(|| 1u8);
        for _ in 0..3 {
            journal.begin("poll.block", &()).ask(async { 1u8 }).await;
            journal.begin("steering.next", &()).see(|| 0u8);
        }
        let call = journal.begin("agent-tools.call", &());
        journal.of_nested(&call).begin("client.ask", &()).ask(async { 2u8 }).await;
        call.act(Again::Safe, async { 3u8 }).await;
        let mut open = journal.begin("http.handle", &());
        open.before_effect(Again::Unknown).await;
        let timeline = Timeline::new(&journal.export().unwrap());
        let steps: Vec<_> =
            timeline.steps.iter().map(|it| (&*it.step, &*it.import, it.times, it.ends.is_some())).collect();
        let expected = [
            ("2", "poll.block", 3, true),
            ("8.1", "client.ask", 1, true),
            ("8", "agent-tools.call", 1, true),
            ("9", "http.handle", 1, false),
        ];
        assert_eq!((steps, timeline.more), (expected.to_vec(), 0));
    }
}
