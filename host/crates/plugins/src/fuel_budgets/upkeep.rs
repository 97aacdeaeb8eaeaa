//! Stores what was used, shortly after its use, and forgets days that are over.

use super::budgets::{FuelBudgets, parse};
use super::record::{BudgetOwner, DayRecord, PREFIX};
use platform::durable::{Durability, DurableError, DurableStore, Expected, Key};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Time between two writes. What was used since the last one is lost if the process is killed.
const PAUSE: Duration = Duration::from_secs(1);
/// From this many owners on, owners that run nothing and whose use is completely stored are forgotten. Bounds memory against
/// many principals.
const MOST_IDLE: usize = 1_024;
/// Records that are read at once.
const PAGE: u32 = 200;

impl FuelBudgets {
    /// Keeps the store up to date as long as anything holds the budgets.
    pub fn keep_stored(self: &Arc<Self>) {
        if self.are_set() && self.store.is_some() {
            tokio::spawn(run(Arc::downgrade(self)));
        }
    }

    /// Stores what is not stored yet.
    pub async fn save(&self) {
        let Some(store) = &self.store else { return };
        let unsaved: Vec<BudgetOwner> = {
            let mut days = self.days.lock();
            if days.len() > MOST_IDLE {
                days.retain(|_, day| !day.is_saved() || day.trees > 0 || !day.now.tasks.is_empty());
            }
            days.iter().filter(|(_, day)| !day.is_saved()).map(|(owner, _)| owner.clone()).collect()
        };
        for owner in unsaved {
            if let Err(error) = self.save_one(&**store, &owner).await {
                tracing::error!(%error, "how much fuel was used today cannot be stored; trying again");
            }
        }
    }

    /// Adds what was used here to what all processes have used.
    async fn save_one(&self, store: &dyn DurableStore, owner: &BudgetOwner) -> Result<(), DurableError> {
        let key = owner.key().map_err(|error| DurableError::Failed(error.to_string()))?;
        loop {
            let stored = store.get(&key).await?;
            let expected = stored.as_ref().map_or(Expected::Nothing, |record| Expected::At(record.revision));
            let mut record = stored.map_or_else(DayRecord::default, |record| parse(&record.value));
            let today = self.today();
            let (added, tasks) = {
                let mut days = self.days.lock();
                let Some(day) = days.get_mut(owner) else { return Ok(()) };
                day.turn(today);
                if record.day < today {
                    (record.day, record.used) = (today, 0);
                }
                (day.unsaved, day.tasks.clone())
            };
            record.used = record.used.saturating_add(added);
            for (call, paid) in &tasks {
                match paid {
                    Some(paid) => drop(record.tasks.insert(call.clone(), *paid)),
                    None => drop(record.tasks.remove(call)),
                }
            }
            // Serialising numbers and names cannot fail.
            let bytes = serde_json::to_vec(&record).unwrap_or_default();
            match store.put(&key, bytes, expected, Durability::Process).await {
                Ok(_) => {}
                Err(DurableError::Conflict(_)) => continue,
                Err(error) => return Err(error),
            }
            let mut days = self.days.lock();
            let Some(day) = days.get_mut(owner) else { return Ok(()) };
            if day.now.day == record.day {
                day.unsaved = day.unsaved.saturating_sub(added);
            }
            day.tasks.retain(|call, paid| tasks.get(call) != Some(paid));
            day.take_over(record);
            return Ok(());
        }
    }

    /// Removes the days of those who have used nothing since.
    pub(super) async fn remove_old(&self, store: &dyn DurableStore) -> Result<(), DurableError> {
        let Ok(all) = Key::new(PREFIX) else { return Ok(()) };
        let today = self.today();
        let mut after = None;
        loop {
            let page = store.list(&all, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (key, record) in page {
                let day = parse(&record.value);
                if day.day < today && day.tasks.is_empty() {
                    // This fails, as it should, if the owner has used the record meanwhile.
                    let _ = store.remove(&key, Expected::At(record.revision), Durability::Process).await;
                }
            }
        }
    }
}

impl Drop for FuelBudgets {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

async fn run(waiting: Weak<FuelBudgets>) {
    let mut day = None;
    loop {
        let Some(budgets) = waiting.upgrade() else { return };
        if let Some(store) = &budgets.store
            && day != Some(budgets.today())
        {
            day = Some(budgets.today());
            if let Err(error) = budgets.remove_old(&**store).await {
                tracing::warn!(%error, "days of fuel that are over stay in the store");
            }
        }
        let changed = budgets.changed.clone();
        // Only payers keep the budgets alive; this wait must not.
        drop(budgets);
        changed.notified().await;
        tokio::time::sleep(PAUSE).await;
        let Some(budgets) = waiting.upgrade() else { return };
        budgets.save().await;
    }
}
