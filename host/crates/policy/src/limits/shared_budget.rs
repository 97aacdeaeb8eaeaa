//! A budget that several calls share which begin and end independently.

use super::{Budget, BudgetUsage};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Fuel and CPU time that several calls share. Each call gets half of what is left when it begins, so that a concurrent call
/// gets some too. It gives back what it did not use.
#[derive(Debug)]
pub struct SharedBudget {
    initial: BudgetShare,
    state: Mutex<State>,
}

/// What one of the calls may use. A share that is never settled counts as used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetShare {
    pub fuel: Option<u64>,
    pub cpu: Option<Duration>,
}

#[derive(Debug)]
struct State {
    left: BudgetShare,
    /// CPU time of calls that ran while the paying call itself was running, which has counted that time already.
    within_payer: Duration,
}

impl SharedBudget {
    pub fn new(budget: &Budget) -> Self {
        let initial = BudgetShare { fuel: budget.fuel, cpu: budget.cpu };
        Self { initial, state: Mutex::new(State { left: initial, within_payer: Duration::ZERO }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reserve(&self) -> BudgetShare {
        let left = &mut self.state().left;
        let half = BudgetShare { fuel: left.fuel.map(|fuel| fuel / 2), cpu: left.cpu.map(|cpu| cpu / 2) };
        left.fuel = left.fuel.map(|fuel| fuel - fuel / 2);
        left.cpu = left.cpu.map(|cpu| cpu - cpu / 2);
        half
    }

    /// Ends a call that had this share, and gives back what it did not use.
    pub fn settle(&self, share: BudgetShare, used: BudgetUsage) {
        let mut state = self.state();
        let unused = share.fuel.map(|fuel| fuel.saturating_sub(used.as_fuel()));
        state.left.fuel = state.left.fuel.zip(unused).map(|(left, unused)| left.saturating_add(unused));
        let unused = share.cpu.map(|cpu| cpu.saturating_sub(used.cpu));
        state.left.cpu = state.left.cpu.zip(unused).map(|(left, unused)| left.saturating_add(unused));
        state.within_payer += used.cpu.saturating_sub(used.elsewhere);
    }

    /// What all calls have used. A call that still runs counts with its whole share.
    pub fn used(&self) -> BudgetUsage {
        let State { left, within_payer } = &*self.state();
        let fuel = self.initial.fuel.zip(left.fuel).map(|(initial, left)| initial.saturating_sub(left));
        let cpu = self.initial.cpu.zip(left.cpu).map(|(initial, left)| initial.saturating_sub(left));
        let cpu = cpu.unwrap_or_default();
        BudgetUsage { fuel, cpu, elsewhere: cpu.saturating_sub(*within_payer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn concurrent_calls_share_and_nothing_is_refilled() {
        let budget = |fuel, cpu| SharedBudget::new(&Budget { fuel, cpu, deadline: Instant::now(), time: SECOND });
        let shared = budget(Some(1_000), None);
        let (first, second) = (shared.reserve(), shared.reserve());
        assert_eq!((first.fuel, second.fuel, first.cpu), (Some(500), Some(250), None));
        shared.settle(first, BudgetUsage { fuel: Some(100), cpu: SECOND, elsewhere: Duration::ZERO });
        // Half of the sum of 250 and the 400 that the first call did not use.
        let third = shared.reserve();
        assert_eq!(third.fuel, Some(325));
        // A call's last step may exceed its share.
        shared.settle(third, BudgetUsage { fuel: Some(400), cpu: SECOND, elsewhere: SECOND });
        assert_eq!(shared.used().fuel, Some(100 + 250 + 325));
        let shared = budget(None, Some(SECOND * 8));
        let (first, second) = (shared.reserve(), shared.reserve());
        shared.settle(first, BudgetUsage { fuel: None, cpu: SECOND, elsewhere: Duration::ZERO });
        shared.settle(second, BudgetUsage { fuel: None, cpu: SECOND, elsewhere: SECOND });
        assert_eq!(shared.used(), BudgetUsage { fuel: None, cpu: SECOND * 2, elsewhere: SECOND });
    }
}
