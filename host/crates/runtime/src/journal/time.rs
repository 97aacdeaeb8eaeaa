//! Time goes on between the runs of a call: what it has waited in one run, it does not wait again in the next.

use super::step::Step;
use std::time::Duration;

/// A shorter wait begins anew in another run. Bounds the records of a guest that looks for something every few milliseconds.
const LONG: Duration = Duration::from_secs(5);

/// Milliseconds that are added to a time that was rounded down, so that no wait ends early and no clock falls behind.
const ROUNDED: u64 = 1;

/// Whether the beginning of such a wait is a step.
pub(crate) fn is_long(wait: Duration) -> bool {
    wait >= LONG
}

impl Step {
    /// How long a wait that begins at this step still takes: all of it, or what earlier runs and the time between them have
    /// left.
    pub(crate) fn left_of(self, wait: Duration) -> Duration {
        let Some(now) = self.0.as_ref().map(|step| step.records.unix_millis()) else { return wait };
        let is_new = !self.is_recorded();
        let millis = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let end = self.see(|| now.saturating_add(millis).saturating_add(ROUNDED));
        // Even if the clock was set back meanwhile, the wait does not become longer than it was.
        if is_new { wait } else { Duration::from_millis(end.saturating_sub(now)).min(wait) }
    }

    /// How long ago an earlier run has recorded the outcome of this step; none if it has not.
    pub(crate) fn recorded_ago(&self) -> Option<Duration> {
        let step = self.0.as_ref()?;
        let recorded = step.earlier.as_ref().filter(|earlier| earlier.outcome.is_some())?;
        Some(Duration::from_millis(step.records.unix_millis().saturating_sub(recorded.at).saturating_add(ROUNDED)))
    }
}

#[cfg(test)]
mod tests;
