//! The store itself: the data of all principals under one lock, its expiry, and notification of changes.

use super::context::OwnerContext;
use super::keeper::Keeper;
use super::owner::OwnerData;
use super::quota::Usage;
use super::unsaved::Unsaved;
use platform::changes::{Change, ChangeNotifier};
use platform::clock::Clock;
use platform::sync::Mutex;
use policy::Principal;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Notify;

/// How often expired data is removed from principals that are not accessed.
const SWEEP: Duration = Duration::from_secs(60);

/// The data of all principals.
pub struct PrincipalStore {
    pub(super) state: Mutex<StoreState>,
    pub(super) clock: Arc<dyn Clock>,
    changes: ChangeNotifier,
    /// Where everything except run logs is also kept; none if nothing outlives the process.
    pub(super) keeper: OnceLock<Keeper>,
    /// Notified when something is to be stored.
    pub(super) wake: Arc<Notify>,
}

pub(super) struct StoreState {
    pub(super) owners: BTreeMap<Principal, OwnerData>,
    pub(super) usage: Usage,
    pub(super) unsaved: Unsaved,
    next_sweep: Instant,
}

impl PrincipalStore {
    /// Reports changes to `changes`.
    pub fn new(clock: Arc<dyn Clock>, changes: ChangeNotifier) -> Self {
        let next_sweep = clock.now() + SWEEP;
        let (owners, usage, unsaved) = Default::default();
        let state = Mutex::new(StoreState { owners, usage, unsaved, next_sweep });
        let (keeper, wake) = Default::default();
        Self { state, clock, changes, keeper, wake }
    }

    /// Runs `work` on one owner's data, after removing what has expired; then sends the changes.
    pub(super) fn with_owner<R>(
        &self,
        owner: &Principal,
        work: impl FnOnce(&mut OwnerData, &mut OwnerContext<'_>) -> R,
    ) -> R {
        self.run(owner, false, work)
    }

    /// The same for work that adds something, for which other owners may have to give way.
    pub(super) fn with_writer<R>(
        &self,
        owner: &Principal,
        work: impl FnOnce(&mut OwnerData, &mut OwnerContext<'_>) -> R,
    ) -> R {
        self.run(owner, true, work)
    }

    fn run<R>(
        &self,
        owner: &Principal,
        makes_room: bool,
        work: impl FnOnce(&mut OwnerData, &mut OwnerContext<'_>) -> R,
    ) -> R {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut changes = Vec::new();
        let (result, is_unsaved) = {
            // A panic while the lock was held leaves at worst a wrong total; the sweep recomputes it.
            let mut state = self.state.lock();
            state.sweep(now, &mut changes);
            if makes_room {
                state.make_room(owner, now, &mut changes);
            }
            let StoreState { owners, usage, unsaved, next_sweep: _ } = &mut *state;
            let own = owners.entry(owner.clone()).or_default();
            let others = usage.minus(own.usage());
            let mut context = OwnerContext { owner, now, wall, others, changes: &mut changes, unsaved };
            own.expire(&mut context);
            let result = work(own, &mut context);
            own.counted = own.usage();
            *usage = others.plus(own.counted);
            if own.is_idle(now) {
                owners.remove(owner);
            }
            (result, std::mem::take(&mut unsaved.is_new))
        };
        if is_unsaved {
            self.wake.notify_one();
        }
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
            own.expire(&mut OwnerContext { owner, now, wall, others, changes, unsaved: &mut self.unsaved });
            own.counted = own.usage();
        }
        self.owners.retain(|_, own| !own.is_idle(now));
        self.usage = self.owners.values().fold(Usage::default(), |sum, own| sum.plus(own.counted));
    }
}
