//! One Store, one call: limits set before the guest runs its first instruction, and somebody watching until it ends.

use super::caught::caught;
use super::cpu::CpuTime;
use super::error::CallError;
use super::limiter::Limiter;
use super::pausable_deadline::PausableDeadline;
use super::trap;
use futures::future::BoxFuture;
use platform::clock::Clock;
use policy::{Budget, Limits, Metering, Spent};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use wasmtime::{Engine, Store, UpdateDeadline};

/// A guest metered by fuel yields this often, so that its counter is never staler than that when somebody looks.
const YIELD_EVERY: u64 = 100_000;

/// What one call may use.
#[derive(Clone)]
pub struct Allowance {
    /// The plugin's ceilings.
    pub limits: Limits,
    /// What is left to this call, at most its ceilings.
    pub budget: Budget,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// Shared by the whole chain of calls.
    pub pausable_deadline: PausableDeadline,
    /// Memory held by the calls above this one, in bytes.
    pub held_above: u64,
}

/// What one call took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// What its parent pays.
    pub spent: Spent,
    /// Wall-clock time.
    pub wall: Duration,
    /// Linear memory at its largest, bytes.
    pub peak_memory: u64,
}

/// The engine's part of a Store's data.
pub struct Supervision {
    pub(super) limiter: Limiter,
    cpu: CpuTime,
    allowance: Allowance,
    /// How long the chain had stood still when this call began.
    stood_before: Duration,
    /// Text of the last host-side reason for a failure, if the guest died of one.
    last_words: Option<String>,
}

impl Supervision {
    /// For a Store whose guest runs under these limits.
    pub fn new(allowance: Allowance, clock: Arc<dyn Clock>) -> Self {
        let limiter = Limiter::new(bytes(allowance.limits.memory), clamp(allowance.limits.table_elements));
        let stood_before = allowance.pausable_deadline.total();
        Self { limiter, cpu: CpuTime::new(clock), allowance, stood_before, last_words: None }
    }

    /// For a call in an instance that was made before; what its memories hold stays counted.
    pub fn begin(&mut self, allowance: Allowance) {
        self.cpu = self.cpu.restarted();
        self.stood_before = allowance.pausable_deadline.total();
        self.allowance = allowance;
    }

    /// The time the call that has begun spends on processors.
    pub fn cpu(&self) -> CpuTime {
        self.cpu.clone()
    }

    /// What the call may use.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Takes CPU time that others spent for this call outside of it; a call metered by CPU time that has none left then
    /// ends at its next tick.
    pub fn pay(&self, elsewhere: Duration) {
        self.cpu.add(elsewhere);
    }

    /// What is left now, for a nested call. Asked from inside the call.
    pub fn left(&self, fuel: Option<u64>) -> Budget {
        let budget = self.allowance.budget;
        let cpu = budget.cpu.map(|limit| limit.saturating_sub(self.cpu.so_far()));
        Budget { fuel, cpu, deadline: self.deadline(), ..budget }
    }

    /// When the call ends, as things stand: later than it was to be by the time it has waited for somebody outside.
    pub fn deadline(&self) -> Instant {
        let allowance = &self.allowance;
        allowance.budget.deadline + allowance.pausable_deadline.total().saturating_sub(self.stood_before)
    }

    /// Memory that this call and those above it hold, in bytes.
    pub fn held(&self) -> u64 {
        self.allowance.held_above + self.limiter.peak_memory()
    }

    /// Notes what a guest said as it died, such as the last line of a panic.
    pub fn set_last_words(&mut self, words: String) {
        self.last_words = Some(words);
    }

    pub(super) fn last_words(&self) -> Option<&str> {
        self.last_words.as_deref()
    }
}

/// Data of a Store that can be supervised.
pub trait Supervised: Send + 'static {
    /// The engine's part.
    fn supervision(&mut self) -> &mut Supervision;
    /// Called when the guest has trapped, before the error is worded.
    fn before_failure(&mut self) {}
}

/// A Store with every limit set.
pub fn new_store<T: Supervised>(engine: &Engine, data: T) -> Store<T> {
    let mut store = Store::new(engine, data);
    let limits = store.data_mut().supervision().allowance.limits.clone();
    store.limiter(|data| &mut data.supervision().limiter);
    store.set_hostcall_fuel(bytes(limits.hostcall));
    store.set_max_component_handles(clamp(limits.handles));
    store.epoch_deadline_callback(|mut store| {
        let supervision = store.data_mut().supervision();
        let over = supervision.allowance.budget.cpu.is_some_and(|limit| supervision.cpu.so_far() > limit);
        Ok(if over { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
    });
    arm(&mut store, 0);
    store
}

/// Gives the Store its call's fuel, less what was spent on making the instance, and its first tick.
pub fn arm<T: Supervised>(store: &mut Store<T>, already_spent: u64) {
    let Allowance { limits, budget, .. } = store.data_mut().supervision().allowance();
    if let (Some(fuel), Metering::Fuel) = (budget.fuel, limits.metering) {
        // These fail only on an engine that does not meter fuel; the guest then has none, and stops at once.
        let set = store
            .set_fuel(fuel.saturating_sub(already_spent))
            .and_then(|()| store.fuel_async_yield_interval(Some(YIELD_EVERY)));
        if let Err(error) = set {
            tracing::error!("a plugin metered by fuel runs on the wrong engine: {error:#}");
        }
    }
    store.set_epoch_deadline(1);
}

/// Runs guest code until it ends, its deadline comes, or it is cancelled; then says what it cost. The Store is of no
/// use afterwards.
///
/// The deadline is watched from outside the guest, so it also ends a guest that waits in a host function. A running
/// guest yields at every epoch tick, so it ends within about one.
pub async fn supervise<T, R, F>(store: &mut Store<T>, guest: F) -> (Result<R, CallError>, Cost)
where
    T: Supervised,
    R: Send,
    F: for<'a> FnOnce(&'a mut Store<T>) -> BoxFuture<'a, wasmtime::Result<R>>,
{
    let supervision = store.data_mut().supervision();
    let cpu = supervision.cpu.clone();
    let Allowance { limits, budget, cancel, pausable_deadline, .. } = supervision.allowance.clone();
    let stood_before = supervision.stood_before;
    let ended = {
        let running = cpu.measure(caught(guest(store)));
        // In this order: a call that ends at its first poll never registers a timer, which would wake another thread. A
        // guest that is still running has yielded, so the other two are looked at after every tick.
        tokio::select! {
            biased;
            result = running => result,
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = pausable_deadline.deadline(budget, stood_before) => {
                Err(CallError::DeadlineExceeded { limit: budget.time })
            }
        }
    };
    let fuel = budget.fuel.filter(|_| limits.metering == Metering::Fuel);
    let fuel = fuel.map(|had| had.saturating_sub(store.get_fuel().unwrap_or(0)));
    let spent = Spent { fuel, cpu: cpu.total(), elsewhere: cpu.elsewhere() };
    let result = match ended {
        Err(error) => Err(error),
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            store.data_mut().before_failure();
            Err(trap::classify(&error, store.data_mut().supervision(), spent))
        }
    };
    let peak_memory = store.data_mut().supervision().limiter.peak_memory();
    // From the moment that its deadline is counted from, so that a call which met it has taken that long.
    let cost = Cost { spent, wall: cpu.now().saturating_duration_since(budget.begun()), peak_memory };
    (result, cost)
}

fn bytes(size: bytesize::ByteSize) -> usize {
    clamp(size.as_u64())
}

fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
