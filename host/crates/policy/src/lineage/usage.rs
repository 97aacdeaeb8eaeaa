//! How much a call and the calls below it have used, so that a later run of the same call can start from there.

use super::{Chain, Lineage};
use crate::{PrivateOrigins, SampleGrant, SampleLimit, SampleUsage, TreeBudget};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// What a call has used with the calls below it, and which private results its tree has seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LineageUsage {
    /// In the order of [`TreeBudget::ALL`].
    budgets: Vec<u64>,
    requests: u32,
    sampled: SampleUsage,
    private: PrivateOrigins,
}

impl Chain {
    fn sampled(&self) -> MutexGuard<'_, SampleUsage> {
        self.sampled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This call and its callers except the root, and then the root.
    fn below_root(&self) -> (Vec<&Self>, &Self) {
        let mut calls: Vec<&Self> = self.calls().collect();
        let root = calls.pop().unwrap_or(self);
        (calls, root)
    }
}

impl Lineage {
    /// Counts a request to a model. Fails if the whole tree may make no more of them under this grant.
    pub fn count_sample(&self, grant: &SampleGrant, tokens: u32) -> Result<(), SampleLimit> {
        let (below, root) = self.chain.below_root();
        grant.count(&mut root.sampled(), tokens)?;
        below.into_iter().for_each(|call| call.sampled().add(SampleUsage::one(tokens)));
        Ok(())
    }

    /// Counts a request to another server. Returns `false` if the whole tree has sent `limit` of them.
    pub fn count_request(&self, limit: u32) -> bool {
        let one_more = |sent: u32| (sent < limit).then_some(sent + 1);
        let (below, root) = self.chain.below_root();
        let counted = root.requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        if counted {
            for call in below {
                call.requests.fetch_add(1, Ordering::Relaxed);
            }
        }
        counted
    }

    pub fn usage(&self) -> LineageUsage {
        LineageUsage {
            budgets: TreeBudget::ALL.map(|budget| self.used(budget)).to_vec(),
            requests: self.chain.requests.load(Ordering::Relaxed),
            sampled: *self.chain.sampled(),
            private: self.private_origins(),
        }
    }

    /// Counts what an earlier run of this call had used when it was at the same place, as far as this run has not counted it
    /// yet. The callers pay for that, too.
    pub fn catch_up(&self, earlier: &LineageUsage) {
        let now = self.usage();
        for (budget, (then, now)) in TreeBudget::ALL.into_iter().zip(earlier.budgets.iter().zip(now.budgets)) {
            self.take_up_to(budget, then.saturating_sub(now));
        }
        let requests = earlier.requests.saturating_sub(now.requests);
        let sampled = earlier.sampled.since(now.sampled);
        for call in self.chain.calls() {
            call.requests.fetch_add(requests, Ordering::Relaxed);
            call.sampled().add(sampled);
        }
        earlier.private.iter().for_each(|origin| self.mark_private(origin.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Origin};

    #[test]
    fn a_later_run_begins_with_what_an_earlier_one_had_used() {
        let (limits, grant) = (Limits::default(), SampleGrant { calls: 9, tokens: 100, fallback: false });
        let tree = || {
            let root = Lineage::root("plugins.a.x", &limits);
            // Each run counts this itself, before the nested call.
            assert!(root.count_request(9));
            let nested = root.descend("b.y", 5).unwrap().with_limits(&limits);
            assert!(nested.count_request(9));
            (root, nested)
        };
        let (root, nested) = tree();
        for (at, budget) in (1..).zip(TreeBudget::ALL) {
            nested.take(budget, at).unwrap();
        }
        assert!(nested.count_request(9) && nested.count_sample(&grant, 40).is_ok());
        nested.mark_private(Origin::Client);
        let (used, of_root) = (nested.usage(), root.usage());

        let (root, nested) = tree();
        nested.catch_up(&used);
        assert_eq!((nested.usage(), root.usage()), (used.clone(), of_root.clone()));
        nested.catch_up(&used);
        assert_eq!((nested.usage(), root.usage()), (used, of_root), "nothing is counted twice");
        assert!(root.count_request(4) && !root.count_request(4));
        assert_eq!(root.count_sample(&grant, 61), Err(SampleLimit::Tokens(100)));
    }
}
