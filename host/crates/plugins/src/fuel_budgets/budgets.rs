//! How much fuel each owner of a budget has left today.

use super::record::{BudgetOwner, DAY, DayRecord, Paid, end_of};
use platform::clock::Clock;
use platform::durable::{DurableError, DurableStore};
use platform::sync::Mutex;
use policy::{DayUsedUp, FuelLimits, FuelOwner, Principal};
use runtime::engine::CallError;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The fuel of each day. Without limits it counts nothing.
pub struct FuelBudgets {
    limits: FuelLimits,
    pub(super) clock: Arc<dyn Clock>,
    /// None if nothing outlives the process.
    pub(super) store: Option<Arc<dyn DurableStore>>,
    pub(super) days: Mutex<HashMap<BudgetOwner, OwnerDay>>,
    /// Notified when something is to be stored.
    pub(super) changed: Arc<Notify>,
}

/// A day of one owner, as this process knows it.
#[derive(Default)]
pub(super) struct OwnerDay {
    /// The record as it was last stored or read, plus what was used here since.
    pub(super) now: DayRecord,
    /// Whether it includes what other processes had stored.
    pub(super) is_read: bool,
    /// Used units that are not stored yet.
    pub(super) unsaved: u64,
    /// Tasks whose entries are to be stored; none means that the entry is to be removed.
    pub(super) tasks: HashMap<String, Option<Paid>>,
    /// The number of trees of calls that run.
    pub(super) trees: usize,
}

impl OwnerDay {
    pub(super) fn is_saved(&self) -> bool {
        self.unsaved == 0 && self.tasks.is_empty()
    }

    /// Takes over the stored record, which does not contain what is still unsaved here.
    pub(super) fn take_over(&mut self, stored: DayRecord) {
        self.is_read = true;
        if stored.day >= self.now.day {
            (self.now.day, self.now.used) = (stored.day, stored.used.saturating_add(self.unsaved));
        }
        for (call, paid) in stored.tasks {
            if !self.tasks.contains_key(&call) {
                self.now.tasks.insert(call, paid);
            }
        }
    }

    /// Begins a new day, if the day has changed.
    pub(super) fn turn(&mut self, today: u64) {
        if self.now.day < today {
            (self.now.day, self.now.used, self.unsaved) = (today, 0, 0);
        }
    }
}

impl FuelBudgets {
    pub fn new(limits: FuelLimits, clock: Arc<dyn Clock>, store: Option<Arc<dyn DurableStore>>) -> Arc<Self> {
        let (days, changed) = Default::default();
        Arc::new(Self { limits, clock, store, days, changed })
    }

    pub fn are_set(&self) -> bool {
        self.limits.are_set()
    }

    /// Refuses a call of somebody who has nothing left today.
    pub async fn admit(&self, principal: &Principal) -> Result<(), CallError> {
        self.load(principal).await;
        let today = self.today();
        let mut days = self.days.lock();
        let used_up = self.owners(principal).find_map(|(owner, kind, limit)| {
            let day = days.entry(owner).or_default();
            day.turn(today);
            (day.now.used >= limit).then_some(DayUsedUp { owner: kind, limit, until: end_of(today) })
        });
        used_up.map_or(Ok(()), |used_up| Err(CallError::DayUsedUp { day: used_up, has_run: false }))
    }

    /// Forgets a task that has ended for good. Its call has this id.
    pub fn forget(&self, principal: &Principal, call: &str) {
        let mut days = self.days.lock();
        for (owner, ..) in self.owners(principal) {
            // An earlier process may have stored it.
            let day = days.entry(owner).or_default();
            day.now.tasks.remove(call);
            day.tasks.insert(call.to_owned(), None);
            self.changed.notify_one();
        }
    }

    /// Those who pay for a principal's calls, with what each may use in a day.
    pub(super) fn owners(&self, principal: &Principal) -> impl Iterator<Item = (BudgetOwner, FuelOwner, u64)> {
        let all =
            [(BudgetOwner::Host, FuelOwner::Host), (BudgetOwner::Principal(principal.clone()), FuelOwner::Principal)];
        let limits = self.limits;
        all.into_iter().filter_map(move |(owner, kind)| limits.per_day_of(kind).map(|limit| (owner, kind, limit)))
    }

    /// Days since 1970, in UTC.
    pub(super) fn today(&self) -> u64 {
        self.clock.unix().as_secs() / DAY
    }

    /// Reads what earlier processes have stored of those who pay for this principal.
    pub(super) async fn load(&self, principal: &Principal) {
        for (owner, ..) in self.owners(principal) {
            if self.days.lock().get(&owner).is_some_and(|day| day.is_read) {
                continue;
            }
            match self.read(&owner).await {
                Ok(stored) => {
                    let mut days = self.days.lock();
                    let day = days.entry(owner).or_default();
                    // Another call may have read it first.
                    if !day.is_read {
                        day.take_over(stored);
                    }
                }
                // The count begins at nothing, and what is stored is added as soon as it can be read.
                Err(error) => tracing::error!(%error, "how much fuel was used today cannot be read"),
            }
        }
    }

    pub(super) async fn read(&self, owner: &BudgetOwner) -> Result<DayRecord, DurableError> {
        let (Some(store), Ok(key)) = (&self.store, owner.key()) else { return Ok(DayRecord::default()) };
        let Some(record) = store.get(&key).await? else { return Ok(DayRecord::default()) };
        Ok(parse(&record.value))
    }
}

/// A record that cannot be parsed counts as if nothing had been used.
pub(super) fn parse(bytes: &[u8]) -> DayRecord {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        tracing::error!(%error, "a stored day of fuel cannot be read, and begins anew");
        DayRecord::default()
    })
}
