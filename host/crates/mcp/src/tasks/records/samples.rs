//! Samples of the fuel that the call of a task had used, and of the memory that it held.

use serde::{Deserialize, Serialize};

/// Samples of one task; must be even. Bounds what is stored and drawn for a task that runs for a day.
const MOST: usize = 120;
/// Milliseconds between two samples at first.
const FIRST_INTERVAL: u64 = 1_000;

/// What the calls of a task had used and held at one moment. It counts as unchanged until the next sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Milliseconds since 1970.
    pub at: u64,
    /// Units of fuel used since the beginning of the task. Never less than in the sample before.
    pub fuel: u64,
    /// Bytes of the host's memory held.
    pub memory: u64,
}

/// Samples in the order of their time. When the limit is reached, every second sample is dropped and the interval doubles. The
/// last one always shows the latest measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::tasks) struct Samples {
    /// The minimum number of milliseconds between two samples, except before the last one.
    interval: u64,
    samples: Vec<Sample>,
}

impl Default for Samples {
    fn default() -> Self {
        Self { interval: FIRST_INTERVAL, samples: Vec::new() }
    }
}

impl Samples {
    /// None if this version cannot read it.
    pub(in crate::tasks) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|samples: &Self| samples.interval > 0)
    }

    pub(in crate::tasks) fn to_bytes(&self) -> Vec<u8> {
        // Numbers can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(in crate::tasks) fn into_vec(self) -> Vec<Sample> {
        self.samples
    }

    /// Adds a sample. False if nothing has changed. A call that runs again has used less than before until it is back where it
    /// was, and a clock may be set back: in both cases the time or fuel of the sample before is kept.
    pub(in crate::tasks) fn add(&mut self, now: Sample) -> bool {
        let Some(last) = self.samples.last().copied() else {
            self.samples.push(now);
            return true;
        };
        let now = Sample { at: now.at.max(last.at), fuel: now.fuel.max(last.fuel), ..now };
        if (now.fuel, now.memory) == (last.fuel, last.memory) {
            return false;
        }
        let before = self.samples.len().checked_sub(2).and_then(|at| self.samples.get(at));
        if before.is_some_and(|before| last.at - before.at < self.interval) {
            self.samples.pop();
        }
        self.samples.push(now);
        if self.samples.len() > MOST {
            // The limit is even, so their number is odd here, and both the first and the last stay.
            self.samples = self.samples.iter().step_by(2).copied().collect();
            self.interval = self.interval.saturating_mul(2);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, fuel: u64, memory: u64) -> Sample {
        Sample { at, fuel, memory }
    }

    #[test]
    fn long_tasks_have_few_samples_over_their_whole_time() {
        let mut samples = Samples::default();
        for second in 0..100_000 {
            assert!(samples.add(sample(second * 1_000, second, 5)));
            assert!(samples.samples.len() <= MOST);
        }
        let kept = &samples.samples;
        assert!(kept.len() > MOST / 3 && kept[0] == sample(0, 0, 5), "{}", kept.len());
        assert_eq!(kept.last(), Some(&sample(99_999_000, 99_999, 5)), "what is so now");
        let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        let (_, gaps) = gaps.split_last().unwrap();
        assert!(gaps.iter().all(|gap| *gap >= samples.interval && *gap <= 2 * samples.interval), "{gaps:?}");
        assert_eq!(Samples::from_bytes(&samples.to_bytes()), Some(samples));
    }

    #[test]
    fn nothing_new_makes_no_sample_and_a_run_that_begins_again_no_lower_one() {
        let mut samples = Samples::default();
        assert!(samples.add(sample(1_000, 50, 7)) && !samples.add(sample(9_000, 50, 7)));
        let mut samples = Samples::from_bytes(&samples.to_bytes()).unwrap();
        assert!(!samples.add(sample(10_000, 3, 7)), "it runs again");
        assert!(samples.add(sample(11_000, 40, 8)), "its memory is what it is");
        assert!(samples.add(sample(500, 60, 8)), "the clock was set back");
        assert_eq!(samples.samples, [sample(1_000, 50, 7), sample(11_000, 50, 8), sample(11_000, 60, 8)]);
        assert!(samples.add(sample(11_010, 61, 8)));
        assert_eq!(samples.samples.len(), 3, "the last moves until the interval is over");
        assert_eq!(Samples::from_bytes(b"{}"), None);
    }
}
