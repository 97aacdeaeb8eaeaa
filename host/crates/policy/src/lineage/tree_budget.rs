//! The amounts that a call uses up together with the calls below it.

use crate::Limits;
use std::sync::atomic::{AtomicU64, Ordering};

/// Refusals that get an audit record and a log line each; further ones are only counted. Bounds what plugins write to the disk
/// by repeating what they may not do.
const REFUSALS: u64 = 256;
/// Spans besides those of the calls themselves; further ones are only counted. Bounds what plugins send to the collector, where
/// it could crowd out the spans of others.
const SPANS: u64 = 256;

/// Amounts that are used up and do not come back while the call lasts. A call pays from its own budget and from those of all
/// its callers, so that nobody gets more by calling others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeBudget {
    Calls,
    /// Requests to accounts that users connected.
    AccountRequests,
    /// Bytes of arguments of reverse calls.
    Arguments,
    /// Bytes of their results.
    Results,
    /// Milliseconds of waiting for the client's tools.
    Waiting,
    Questions,
    /// Bytes by which files in granted directories grow.
    FileGrowth,
    LogBytes,
    LogLines,
    Refusals,
    Spans,
}

impl TreeBudget {
    pub const ALL: [Self; 11] = [
        Self::Calls,
        Self::AccountRequests,
        Self::Arguments,
        Self::Results,
        Self::Waiting,
        Self::Questions,
        Self::FileGrowth,
        Self::LogBytes,
        Self::LogLines,
        Self::Refusals,
        Self::Spans,
    ];

    /// How much one call of a plugin gets, together with the calls below it.
    pub fn limit(self, limits: &Limits) -> u64 {
        match self {
            Self::Calls | Self::AccountRequests => limits.calls.into(),
            Self::Arguments => limits.call_arguments.as_u64(),
            Self::Results => limits.call_results.as_u64(),
            Self::Waiting => u64::try_from(limits.reverse_call_wait.as_millis()).unwrap_or(u64::MAX),
            Self::Questions => limits.questions.into(),
            Self::FileGrowth => limits.file_growth.as_u64(),
            Self::LogBytes => limits.log.as_u64(),
            Self::LogLines => limits.log_lines,
            Self::Refusals => REFUSALS,
            Self::Spans => SPANS,
        }
    }
}

#[derive(Debug)]
struct Counter {
    left: AtomicU64,
    limit: AtomicU64,
}

/// The budgets of one call.
#[derive(Debug)]
pub(super) struct CallBudgets([Counter; TreeBudget::ALL.len()]);

impl CallBudgets {
    pub(super) fn new(limits: &Limits) -> Self {
        Self::with(|budget| budget.limit(limits))
    }

    /// For a call whose limits are not known yet, or that has no limits besides those of its callers.
    pub(super) fn unlimited() -> Self {
        Self::with(|_| u64::MAX)
    }

    fn with(limit: impl Fn(TreeBudget) -> u64) -> Self {
        let counter = |limit| Counter { left: AtomicU64::new(limit), limit: AtomicU64::new(limit) };
        Self(TreeBudget::ALL.map(|budget| counter(limit(budget))))
    }

    /// Lowers the budgets to these limits. Must happen before anything is used.
    pub(super) fn tighten(&self, limits: &Limits) {
        for budget in TreeBudget::ALL {
            let (Counter { left, limit }, lower) = (self.counter(budget), budget.limit(limits));
            limit.fetch_min(lower, Ordering::Relaxed);
            left.fetch_min(lower, Ordering::Relaxed);
        }
    }

    fn counter(&self, budget: TreeBudget) -> &Counter {
        &self.0[budget as usize]
    }

    /// Takes the whole `amount`. If less is left, takes nothing and fails with the limit.
    pub(super) fn take(&self, budget: TreeBudget, amount: u64) -> Result<(), u64> {
        let taken = |left: u64| left.checked_sub(amount);
        let took = self.counter(budget).left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        took.map(|_| ()).map_err(|_| self.limit(budget))
    }

    pub(super) fn take_up_to(&self, budget: TreeBudget, amount: u64) {
        let taken = |left: u64| Some(left.saturating_sub(amount));
        // Cannot fail: the closure always returns a value.
        let _ = self.counter(budget).left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
    }

    /// Gives back an amount that was taken and not used.
    pub(super) fn give_back(&self, budget: TreeBudget, amount: u64) {
        self.counter(budget).left.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn left(&self, budget: TreeBudget) -> u64 {
        self.counter(budget).left.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self, budget: TreeBudget) -> u64 {
        self.counter(budget).limit.load(Ordering::Relaxed)
    }

    pub(super) fn used(&self, budget: TreeBudget) -> u64 {
        self.limit(budget).saturating_sub(self.left(budget))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_budget_has_a_counter_of_its_own() {
        let budgets = CallBudgets::unlimited();
        for (at, budget) in TreeBudget::ALL.into_iter().enumerate() {
            assert_eq!(budget as usize, at, "{budget:?} is at another place in ALL");
            budgets.take(budget, 1 + at as u64).unwrap();
        }
        assert!(TreeBudget::ALL.into_iter().enumerate().all(|(at, budget)| budgets.used(budget) == 1 + at as u64));
    }

    #[test]
    fn limits_only_tighten() {
        let budgets = CallBudgets::new(&Limits { questions: 5, calls: 7, ..Limits::default() });
        budgets.tighten(&Limits { questions: 9, calls: 3, ..Limits::default() });
        assert_eq!((budgets.limit(TreeBudget::Questions), budgets.left(TreeBudget::Calls)), (5, 3));
        assert_eq!(budgets.take(TreeBudget::Calls, 4), Err(3));
        budgets.take_up_to(TreeBudget::Calls, 4);
        assert_eq!((budgets.left(TreeBudget::Calls), budgets.used(TreeBudget::Calls)), (0, 3));
    }
}
