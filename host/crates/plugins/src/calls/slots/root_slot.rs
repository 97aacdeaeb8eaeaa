//! The slot of a root call among the running calls, given to others while the call waits.

use crate::calls::request::BudgetSource;
use platform::sync::Mutex;
use runtime::engine::{FairSemaphore, Slot, SlotRequest};
use std::sync::{Arc, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A root call's slot. The call may wait for several things at once; others can use its slot while it waits for any of them.
pub(in crate::calls) struct RootSlot {
    semaphore: FairSemaphore,
    request: SlotRequest,
    /// Pays for the call, if an upstream server made it.
    budget_source: Option<Arc<dyn BudgetSource>>,
    state: Mutex<SlotState>,
}

struct SlotState {
    slot: Option<Slot>,
    /// How many things the call waits for.
    wait_count: usize,
    /// The permits of the call's instances to wait, held while `wait_count` is not 0.
    wait_permit: Option<OwnedSemaphorePermit>,
}

/// The call waits until this is dropped.
pub(in crate::calls) struct WaitGuard<'a>(&'a RootSlot);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.wait_count -= 1;
        if state.wait_count == 0 {
            state.wait_permit = None;
        }
    }
}

impl RootSlot {
    pub(in crate::calls) fn new(
        semaphore: FairSemaphore,
        request: SlotRequest,
        slot: Slot,
        budget_source: Option<Arc<dyn BudgetSource>>,
    ) -> Arc<Self> {
        let state = SlotState { slot: Some(slot), wait_count: 0, wait_permit: None };
        Arc::new(Self { semaphore, request, budget_source, state: Mutex::new(state) })
    }

    pub(in crate::calls) fn budget_source(&self) -> Option<&Arc<dyn BudgetSource>> {
        self.budget_source.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock()
    }

    pub(in crate::calls) fn release(&self) {
        let slot = self.state().slot.take();
        drop(slot);
    }

    /// Begins to wait with this many instances and gives the slot up; none when too many instances wait already.
    pub(in crate::calls) fn wait(&self, wait_permits: &Arc<Semaphore>, instances: u32) -> Option<WaitGuard<'_>> {
        let mut state = self.state();
        if state.wait_count == 0 {
            state.wait_permit = Some(wait_permits.clone().try_acquire_many_owned(instances).ok()?);
            state.slot = None;
        }
        state.wait_count += 1;
        Some(WaitGuard(self))
    }

    /// Ends a wait. The last one queues for a slot again.
    pub(in crate::calls) async fn resume(&self, guard: WaitGuard<'_>) {
        let needs_slot = {
            let state = self.state();
            state.wait_count == 1 && state.slot.is_none()
        };
        // The queue always has room for a call that resumes.
        if needs_slot && let Ok(slot) = self.semaphore.reacquire(&self.request).await {
            let mut state = self.state();
            // By now the call may have begun to wait for something else, and then it needs no slot.
            state.slot = (state.wait_count == 1).then_some(slot);
        }
        drop(guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use policy::{PluginId, Side};
    use runtime::engine::SlotLimits;

    #[test]
    fn concurrent_waits_of_a_call_count_once() {
        let semaphore = FairSemaphore::new(SlotLimits { total: 1, per_principal: 1, queue: 1 });
        let wait_permits = Arc::new(Semaphore::new(4));
        let plugin = PluginId { side: Side::Server, name: "a".into() };
        let slot_request = SlotRequest { principal: "ann".into(), plugin, concurrent: 1, queue: 1 };
        let acquire = || semaphore.acquire(&slot_request).now_or_never().unwrap().ok().unwrap();
        let new = || RootSlot::new(semaphore.clone(), slot_request.clone(), acquire(), None);
        let slot = new();
        let first = slot.wait(&wait_permits, 3).unwrap();
        let second = slot.wait(&wait_permits, 3).unwrap();
        assert_eq!((semaphore.is_idle(), wait_permits.available_permits()), (true, 1));
        let other = new();
        assert!(other.wait(&wait_permits, 2).is_none(), "too many instances wait");
        slot.resume(first).now_or_never().expect("it needs no slot while the other wait lasts");
        let mut last = Box::pin(slot.resume(second));
        assert!((&mut last).now_or_never().is_none(), "another call has the slot");
        other.release();
        last.now_or_never().expect("the slot is free");
        assert_eq!((semaphore.is_idle(), wait_permits.available_permits()), (false, 4));
    }
}
