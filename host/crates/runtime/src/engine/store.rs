//! One Store, one call: every limit is set before the guest runs its first instruction, and the call is supervised
//! until it ends.

use super::catch_panic::catch_panic;
use super::error::CallError;
use super::fuel_account::Tick;
use super::supervision::{Allowance, CallCost, Supervised, bytes, clamp};
use super::trap;
use futures::future::BoxFuture;
use policy::BudgetUsage;
use wasmtime::{Engine, Store, UpdateDeadline};

/// A guest metered by fuel yields after this many units, which bounds how outdated its fuel counter is when it is read. This is
/// more than a small call of an interpreter needs, since a yield starts a timer and wakes another thread. It is far less than a
/// tick computes, since short calls on the same thread wait for it: with 4 million, calls beside two that compute for a
/// millisecond waited three times as long.
const FUEL_YIELD_INTERVAL: u64 = 500_000;

/// A Store with every limit set.
pub fn new_store<T: Supervised>(engine: &Engine, data: T) -> Store<T> {
    let mut store = Store::new(engine, data);
    let limits = store.data_mut().supervision().allowance().limits.clone();
    store.limiter(|data| &mut data.supervision().limiter);
    store.set_hostcall_fuel(bytes(limits.hostcall));
    store.set_max_component_handles(clamp(limits.handles));
    store.epoch_deadline_callback(|mut store| {
        let left = store.get_fuel().ok();
        Ok(match store.data_mut().supervision().tick(left) {
            Tick::GoOn => UpdateDeadline::Yield(1),
            Tick::Stop => UpdateDeadline::Interrupt,
            Tick::Wait(wait) => UpdateDeadline::YieldCustom(1, wait),
        })
    });
    start_metering(&mut store, 0);
    store
}

/// Gives the Store its call's fuel, less what instantiation has already spent, and starts its epoch ticks.
pub fn start_metering<T: Supervised>(store: &mut Store<T>, already_spent: u64) {
    if let Some(fuel) = store.data_mut().supervision().given_fuel() {
        // These fail only on an engine that does not meter fuel. The guest then has no fuel, and stops at once.
        let set = store
            .set_fuel(fuel.saturating_sub(already_spent))
            .and_then(|()| store.fuel_async_yield_interval(Some(FUEL_YIELD_INTERVAL)));
        if let Err(error) = set {
            tracing::error!("a plugin metered by fuel runs on an engine without fuel metering: {error:#}");
        }
    }
    store.set_epoch_deadline(1);
}

/// Runs guest code until it ends, its deadline expires, or it is cancelled. The Store must not be used for another
/// call.
///
/// The deadline is watched from outside the guest, so it also ends a guest that waits in a host function. A running
/// guest yields at every epoch tick, so it ends within about one tick.
pub async fn supervise<T, R, F>(store: &mut Store<T>, guest: F) -> (Result<R, CallError>, CallCost)
where
    T: Supervised,
    R: Send,
    F: for<'a> FnOnce(&'a mut Store<T>) -> BoxFuture<'a, wasmtime::Result<R>>,
{
    let supervision = store.data_mut().supervision();
    let cpu = supervision.cpu();
    let Allowance { budget, cancel, pausable_clock, .. } = supervision.allowance().clone();
    let ended = {
        let running = cpu.measure(catch_panic(guest(store)));
        // In this order: a call that ends at its first poll never registers a timer, which would wake another thread. A
        // guest that computes yields at every tick, so the other two are checked after every tick.
        tokio::select! {
            biased;
            result = running => result,
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = pausable_clock.reached(budget.deadline) => {
                Err(CallError::DeadlineExceeded { limit: budget.time })
            }
        }
    };
    let left = store.get_fuel().ok();
    let fuel = store.data_mut().supervision().used_fuel(left);
    let spent = BudgetUsage { fuel, cpu: cpu.total(), elsewhere: cpu.external() };
    let result = match ended {
        Err(error) => Err(error),
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            store.data_mut().before_failure();
            Err(trap::classify(&error, store.data_mut().supervision(), spent))
        }
    };
    (result, store.data_mut().supervision().cost(spent))
}

#[cfg(test)]
mod tests;
