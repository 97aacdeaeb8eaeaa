//! The store itself: the data of all principals under one lock, its expiry, and notification of changes.

use super::context::OwnerContext;
use super::owner::OwnerData;
use super::quota::Usage;
use platform::changes::{Change, ChangeNotifier};
use platform::clock::Clock;
use platform::sync::Mutex;
use policy::Principal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often expired data is removed from principals that are not accessed.
const SWEEP: Duration = Duration::from_secs(60);

/// The data of all principals.
pub struct PrincipalStore {
    pub(super) state: Mutex<StoreState>,
    clock: Arc<dyn Clock>,
    changes: ChangeNotifier,
}

pub(super) struct StoreState {
    pub(super) owners: BTreeMap<Principal, OwnerData>,
    pub(super) usage: Usage,
    next_sweep: Instant,
}

impl PrincipalStore {
    /// Reports changes to `changes`.
    pub fn new(clock: Arc<dyn Clock>, changes: ChangeNotifier) -> Self {
        let next_sweep = clock.now() + SWEEP;
        let state = StoreState { owners: BTreeMap::new(), usage: Usage::default(), next_sweep };
        Self { state: Mutex::new(state), clock, changes }
    }

    /// Runs `work` on one owner's data, after removing what has expired; then sends the changes.
    pub(super) fn with_owner<R>(
        &self,
        owner: &Principal,
        work: impl FnOnce(&mut OwnerData, &mut OwnerContext<'_>) -> R,
    ) -> R {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut changes = Vec::new();
        let result = {
            // A panic while the lock was held leaves at worst a wrong total; the sweep recomputes it.
            let mut state = self.state.lock();
            state.sweep(now, &mut changes);
            let StoreState { owners, usage, .. } = &mut *state;
            let own = owners.entry(owner.clone()).or_default();
            let others = usage.minus(own.usage());
            let mut context = OwnerContext { owner, now, wall, others, changes: &mut changes };
            own.expire(&mut context);
            let result = work(own, &mut context);
            *usage = others.plus(own.usage());
            if own.is_idle(now) {
                owners.remove(owner);
            }
            result
        };
        for change in changes {
            self.changes.send(change);
        }
        result
    }
}

impl StoreState {
    /// Periodically removes expired data of all owners.
    fn sweep(&mut self, now: Instant, changes: &mut Vec<Change>) {
        // When the store is full, sweeps at once: expired data of others may be what fills it.
        if now < self.next_sweep && !self.usage.is_full() {
            return;
        }
        self.next_sweep = now + SWEEP;
        for (owner, own) in &mut self.owners {
            let (wall, others) = (SystemTime::UNIX_EPOCH, Usage::default());
            own.expire(&mut OwnerContext { owner, now, wall, others, changes });
        }
        self.owners.retain(|_, own| !own.is_idle(now));
        self.usage = self.owners.values().fold(Usage::default(), |sum, own| sum.plus(own.usage()));
    }
}
