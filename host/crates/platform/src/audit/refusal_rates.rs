//! Limits how many refusals are recorded and logged over time. Each call keeps a number of them, so a client that calls again
//! and again could write as many each time.

use crate::sync::Mutex;
use policy::{PluginId, Principal, Rate, TokenBucket};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Refusals of the calls of a plugin for one principal: 600 at once, and after that ten per second. Bounds what a client writes
/// to the disk by repeating calls that are refused.
const RATE: Rate = Rate::new(600, Duration::from_secs(60));
/// Pairs of a principal and a plugin that are remembered. Bounds memory. If there are too many, the pairs that were quiet for a
/// minute are forgotten first.
const MAX_PAIRS: usize = 4_096;

#[derive(Default)]
pub(super) struct RefusalRates(Mutex<HashMap<(Principal, PluginId), Pair>>);

struct Pair {
    bucket: TokenBucket,
    left_out: u64,
}

impl RefusalRates {
    /// Returns `None` if one more refusal is not kept; otherwise how many were left out before it.
    pub(super) fn take(&self, principal: &Principal, plugin: &PluginId, now: Instant) -> Option<u64> {
        let mut pairs = self.0.lock();
        if pairs.len() >= MAX_PAIRS {
            pairs.retain(|_, pair| !pair.bucket.is_full(RATE, now));
            if pairs.len() >= MAX_PAIRS {
                pairs.clear();
            }
        }
        let new = || Pair { bucket: TokenBucket::new(RATE, now), left_out: 0 };
        let pair = pairs.entry((principal.clone(), plugin.clone())).or_insert_with(new);
        match pair.bucket.take(RATE, now) {
            Ok(()) => Some(std::mem::take(&mut pair.left_out)),
            Err(_) => {
                pair.left_out += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, SystemClock};
    use policy::Side;

    #[test]
    fn who_is_refused_in_a_loop_writes_little_and_hides_nobody_else() {
        let rates = RefusalRates::default();
        let plugin = |name: &str| PluginId { side: Side::Server, name: name.into() };
        let (mallory, alice) = (Principal::from_source("key", "mallory"), Principal::from_source("key", "alice"));
        let start = SystemClock.now();
        let kept = (0..10_000).filter(|_| rates.take(&mallory, &plugin("a"), start).is_some()).count();
        assert_eq!(kept, 600);
        assert_eq!(rates.take(&alice, &plugin("a"), start), Some(0));
        assert_eq!(rates.take(&mallory, &plugin("b"), start), Some(0));
        assert_eq!(
            rates.take(&mallory, &plugin("a"), start + Duration::from_secs(1)),
            Some(9_400),
            "and says how many were left out"
        );
        for at in 0..2 * MAX_PAIRS {
            rates.take(&alice, &plugin(&at.to_string()), start);
            assert!(rates.0.lock().len() <= MAX_PAIRS);
        }
    }
}
