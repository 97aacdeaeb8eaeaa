//! The upkeep of keys: finds those of earlier processes, renews the lease while calls of this process run, and removes keys
//! whose time is over. Without keys it sleeps until there is one.

use super::call_key::PREFIX;
use super::keys::{IdempotencyKeys, millis};
use super::process::{LEASE, RENEW};
use super::record::KeyState;
use super::table::CountedRecord;
use crate::upkeep::{Upkeep, look_after};
use platform::clock::Clock;
use platform::durable::{Durability, DurableError, DurableStore, Expected, Key};
use policy::IdempotencyLimits;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Records in one page of the list.
const PAGE: u32 = 100;
/// The longest sleep, since the wall clock may be set meanwhile.
const LONGEST: Duration = Duration::from_secs(600);
/// Time before the store is used again after an error.
const RETRY: Duration = Duration::from_secs(5);

impl IdempotencyKeys {
    /// Starts the upkeep of the keys of a store. `holder` is the place of this process among those that use the store.
    pub fn open(
        store: Arc<dyn DurableStore>,
        holder: String,
        limits: IdempotencyLimits,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Arc<Self>> {
        let keys = Self::new(store, holder, limits, clock)?;
        tokio::spawn(run(Arc::downgrade(&keys)));
        Ok(keys)
    }
}

/// First reads the keys of earlier processes.
async fn run(keys: Weak<IdempotencyKeys>) {
    if let Some(keys) = keys.upgrade()
        && let Err(error) = keys.find_all().await
    {
        tracing::warn!(%error, "idempotency keys of earlier processes cannot be listed; they are found when they are used");
    }
    look_after(keys, None).await;
}

impl Drop for IdempotencyKeys {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

impl Upkeep for IdempotencyKeys {
    /// When to renew the lease; none if no calls run.
    type Agenda = Option<Instant>;

    fn wake(&self) -> &Arc<Notify> {
        &self.wake
    }

    async fn do_what_is_due(self: &Arc<Self>, renew: &mut Option<Instant>) -> Option<Duration> {
        let swept = self.sweep().await;
        if let Err(error) = &swept {
            tracing::error!(%error, "idempotency keys whose time is over cannot be removed; trying again");
        }
        let now = self.clock.now();
        if self.running.is_empty() {
            *renew = None;
        } else if renew.is_none_or(|at| at <= now) {
            // The first time, the claim has taken the lease a moment ago.
            if renew.is_some()
                && let Err(error) = self.process.hold(&*self.store).await
            {
                tracing::error!(%error, "this process cannot say that its calls with idempotency keys still run");
            }
            *renew = Some(now + RENEW);
        }
        let renew = renew.map(|at| at.saturating_duration_since(now));
        let next = self.table.lock().next_expiry();
        let sweep = next.map(|at| Duration::from_millis(at.saturating_sub(self.now())).min(LONGEST));
        let sweep = if swept.is_ok() { sweep } else { sweep.map(|wait| wait.max(RETRY)) };
        renew.into_iter().chain(sweep).min()
    }
}

impl IdempotencyKeys {
    /// Adds the keys that other and earlier processes have stored to the table.
    pub(super) async fn find_all(&self) -> Result<(), DurableError> {
        let Ok(prefix) = Key::new(PREFIX) else { return Ok(()) };
        let mut after: Option<Key> = None;
        loop {
            let page = self.store.list(&prefix, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (key, record) in page {
                let bytes = record.value.len();
                let kept = self.read(&record.value).map_or_else(
                    || CountedRecord::unreadable(self.expiry(), bytes),
                    |record| CountedRecord::new(&record, bytes),
                );
                // The keys in use in this process are in the table already.
                if !self.running.contains(&key) {
                    self.table.lock().insert(&key, kept);
                }
            }
        }
    }

    /// Removes the keys whose time is over, but none whose call runs.
    pub(super) async fn sweep(&self) -> Result<(), DurableError> {
        loop {
            let now = self.now();
            let Some(key) = self.table.lock().expired(now) else { return Ok(()) };
            let later = now + millis(LEASE);
            if self.running.contains(&key) {
                self.table.lock().set_expiry(&key, later);
                continue;
            }
            let Some(found) = self.store.get(&key).await? else {
                self.table.lock().remove(&key);
                continue;
            };
            if let Some(record) = self.read(&found.value) {
                // Another process has changed the key meanwhile.
                if record.expires > now {
                    self.table.lock().insert(&key, CountedRecord::new(&record, found.value.len()));
                    continue;
                }
                if let KeyState::Running { owner, .. } = &record.state
                    && self.process.may_run(&*self.store, owner).await?
                {
                    self.table.lock().set_expiry(&key, later);
                    continue;
                }
            }
            match self.store.remove(&key, Expected::At(found.revision), Durability::Process).await {
                // Another process is claiming the key at this moment.
                Err(DurableError::Conflict(_)) => self.table.lock().set_expiry(&key, later),
                Err(error) => return Err(error),
                // Removed from the table, unless the key was claimed again already.
                Ok(()) if !self.running.contains(&key) => drop(self.table.lock().remove(&key)),
                Ok(()) => {}
            }
        }
    }
}
