//! Steps of which nothing is recorded any more.

use super::entry::StepPath;
use std::ops::Range;

/// The steps of one call of which nothing is recorded any more.
#[derive(Debug, Default)]
pub(super) struct Forgotten(Vec<(StepPath, Range<u32>)>);

impl Forgotten {
    pub(super) fn add(&mut self, call: &StepPath, steps: &Range<u32>) {
        // A nested call is forgotten with the step that made it.
        self.0.retain(|(other, _)| other != call && !is_of(other, call, steps));
        self.0.push((call.clone(), steps.clone()));
    }

    /// Whether a step was forgotten. One that began before a checkpoint may end after it.
    pub(super) fn has(&self, path: &StepPath) -> bool {
        self.0.iter().any(|(call, steps)| is_of(path, call, steps))
    }
}

/// Whether a step is one of these steps of a call, or below one.
pub(super) fn is_of(path: &StepPath, call: &StepPath, steps: &Range<u32>) -> bool {
    path.0.strip_prefix(&*call.0).and_then(<[u32]>::first).is_some_and(|number| steps.contains(number))
}
