//! Charges one tree of calls to the budgets of the day.

use super::budgets::FuelBudgets;
use super::record::{Paid, end_of};
use platform::sync::Mutex;
use policy::{DayUsedUp, Principal};
use runtime::engine::FuelPayer;
use std::sync::Arc;

pub(super) struct Payer {
    budgets: Arc<FuelBudgets>,
    principal: Principal,
    call: String,
    paid: Mutex<Paid>,
}

impl FuelBudgets {
    /// The payer for a tree of calls that begins, or that continues an earlier run of the call with this id.
    pub async fn payer(self: &Arc<Self>, principal: &Principal, call: &str) -> Box<dyn FuelPayer> {
        self.load(principal).await;
        let mut paid = Paid::default();
        let mut days = self.days.lock();
        for (owner, ..) in self.owners(principal) {
            let day = days.entry(owner).or_default();
            day.trees += 1;
            if let Some(earlier) = day.now.tasks.get(call).filter(|earlier| earlier.units > paid.units) {
                paid = *earlier;
            }
        }
        drop(days);
        let (budgets, principal, call) = (self.clone(), principal.clone(), call.to_owned());
        Box::new(Payer { budgets, principal, call, paid: Mutex::new(paid) })
    }
}

impl FuelBudgets {
    /// Charges for work that has ended.
    pub async fn charge(self: &Arc<Self>, principal: &Principal, used: u64) {
        // The result is ignored: the fuel is used already, whatever is left.
        let _ = self.payer(principal, "").await.pay(used, 0, false);
    }
}

impl FuelPayer for Payer {
    fn pay(&self, used: u64, added: u64, durable: bool) -> Result<(), DayUsedUp> {
        let today = self.budgets.today();
        let mut days = self.budgets.days.lock();
        let mut paid = self.paid.lock();
        // What an earlier run has paid is not charged again.
        let mut due = used.saturating_sub(paid.units);
        let owners = || self.budgets.owners(&self.principal);
        let room = owners().map(|(owner, _, limit)| {
            let day = days.entry(owner).or_default();
            day.turn(today);
            limit.saturating_sub(day.now.used)
        });
        let room = room.min().unwrap_or(u64::MAX);
        let of_its_own = due.saturating_sub(room).min(added.saturating_sub(paid.of_its_own));
        due -= of_its_own;
        paid.units = paid.units.max(used);
        paid.of_its_own += of_its_own;
        let has_own = added > paid.of_its_own;
        let mut used_up = None;
        for (owner, kind, limit) in owners() {
            let day = days.entry(owner).or_default();
            // What a tick has used beyond the limit counts, too.
            day.now.used = day.now.used.saturating_add(due);
            day.unsaved = day.unsaved.saturating_add(due);
            if durable && day.now.tasks.get(&self.call) != Some(&paid) {
                day.now.tasks.insert(self.call.clone(), *paid);
                day.tasks.insert(self.call.clone(), Some(*paid));
            }
            if day.now.used >= limit && !has_own {
                used_up = used_up.or(Some(DayUsedUp { owner: kind, limit, until: end_of(today) }));
            }
            if !day.is_saved() {
                self.budgets.changed.notify_one();
            }
        }
        used_up.map_or(Ok(()), Err)
    }
}

impl Drop for Payer {
    fn drop(&mut self) {
        let mut days = self.budgets.days.lock();
        for (owner, ..) in self.budgets.owners(&self.principal) {
            if let Some(day) = days.get_mut(&owner) {
                day.trees = day.trees.saturating_sub(1);
            }
        }
    }
}
