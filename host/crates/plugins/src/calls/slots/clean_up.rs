//! What is left to do when a root call has ended: its Store is dropped, and if no other call follows, the next instance is made.
//! Neither this caller nor the next one should wait for it.

use crate::calls::slots::idle::{CallNumber, IdleDetector};
use crate::catalog::Plugin;
use platform::clock::Clock;
use policy::Budget;
use runtime::abi::SpentStore;
use runtime::engine::{Allowance, PausableClock};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Instances created ahead of their calls, over all plugins. Bounds the memory of an idle host.
const READY_INSTANCES: usize = 16;

/// Makes the next instances for the calls of one runner.
pub(in crate::calls) struct InstanceMaker {
    clock: Arc<dyn Clock>,
    idle: IdleDetector,
    permits: Arc<Semaphore>,
}

/// The work that one call leaves. Dropping this spawns the work as a task, which runs after what this thread is doing now.
pub struct CleanUp(Option<Work>);

struct Work {
    maker: Arc<InstanceMaker>,
    plugin: Arc<Plugin>,
    spent_store: SpentStore,
    call: CallNumber,
}

impl InstanceMaker {
    pub(in crate::calls) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, idle: IdleDetector::default(), permits: Arc::new(Semaphore::new(READY_INSTANCES)) }
    }

    /// Counts a root call that begins.
    pub(in crate::calls) fn call_begins(&self) -> CallNumber {
        self.idle.call_begins()
    }

    /// How many instances wait for their call.
    pub(in crate::calls) fn ready(&self) -> usize {
        READY_INSTANCES.saturating_sub(self.permits.available_permits())
    }
}

impl CleanUp {
    pub(in crate::calls) fn new(
        maker: Arc<InstanceMaker>,
        plugin: Arc<Plugin>,
        spent_store: SpentStore,
        call: CallNumber,
    ) -> Self {
        Self(Some(Work { maker, plugin, spent_store, call }))
    }

    /// Drops the Store now and makes no instance: the next call is there already, and makes its own in the same place.
    pub fn before_next_call(mut self) {
        drop(self.0.take());
    }
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        // Without a runtime, on a thread of the compute pool or when the process ends, only the Store is dropped.
        if let Some(work) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(work.run());
        }
    }
}

impl Work {
    async fn run(self) {
        let Self { maker, plugin, spent_store, call } = self;
        let is_last = maker.idle.is_last(call);
        drop(spent_store);
        // An instance that is made ahead has no directories yet. A plugin with directories could ask for them while its
        // instance is created, so none is made ahead for it.
        let Some(code) = plugin.code.loaded().filter(|code| code.wants_ready()) else { return };
        if !is_last || !plugin.authority.mounts().is_empty() {
            return;
        }
        if let Ok(permit) = maker.permits.clone().try_acquire_owned() {
            let limits = plugin.spec.limits.clone();
            let budget = Budget::root(&limits, maker.clock.now());
            let pausable_clock = PausableClock::new(maker.clock.clone());
            let cancel = CancellationToken::new();
            let allowance = Allowance { limits, budget, cancel, pausable_clock, fuel: None };
            code.make_ready(&plugin.authority, allowance, permit).await;
        }
    }
}
