//! Turns wasmtime's errors into typed ones. Some of them have private types and can only be recognised by their text;
//! `tests/suite` pins each with a guest, so an update of wasmtime that rewords one fails there.

use super::error::{BusyResource, CallError};
use super::limiter::RefusedGrowth;
use super::profile::MAX_INSTANCES;
use super::supervision::Supervision;
use platform::telemetry::printable;
use policy::{BudgetUsage, Metering};
use wasmtime::{Error, PoolConcurrencyLimitError, Trap};

pub(super) fn classify(error: &Error, supervision: &Supervision, spent: BudgetUsage) -> CallError {
    let allowance = supervision.allowance();
    let limits = &allowance.limits;
    if let Some(known) = error.downcast_ref::<CallError>() {
        return known.clone();
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return CallError::Exited { status: exit.0 };
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return CallError::Busy { resource: BusyResource::Instances, limit: MAX_INSTANCES };
    }
    if error.is::<std::str::Utf8Error>() {
        return CallError::InvalidOutput { reason: "a string is not valid UTF-8".into() };
    }
    let trap = error.downcast_ref::<Trap>().copied();
    match trap {
        // In a tree with a fuel account, the tick interrupts a root call that is out of fuel.
        Some(Trap::OutOfFuel) => return fuel_exhausted(supervision, spent),
        Some(Trap::Interrupt)
            if limits.metering == Metering::Fuel && allowance.budget.cpu.is_none_or(|limit| spent.cpu <= limit) =>
        {
            return fuel_exhausted(supervision, spent);
        }
        Some(Trap::Interrupt) => {
            return CallError::CpuExhausted { limit: allowance.budget.cpu.unwrap_or(limits.cpu), used: spent.cpu };
        }
        Some(Trap::StackOverflow) => return CallError::StackOverflow,
        _ => {}
    }
    let text = format!("{error:#}");
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::HostcallExceeded { limit: limits.hostcall.as_u64() };
    }
    if text.contains("store handle limit exceeded") || text.contains("resource table has no free keys") {
        return CallError::HandlesExceeded { limit: limits.handles };
    }
    if text.contains("resource limit exceeded:") {
        return CallError::InstancesExceeded { detail: text };
    }
    // A guest that is refused memory usually aborts: the refusal is the cause, the trap only the consequence.
    match supervision.limiter.refused() {
        Some(RefusedGrowth::Memory { requested }) => {
            return CallError::MemoryExceeded { limit: limits.memory.as_u64(), requested };
        }
        Some(RefusedGrowth::Table { requested }) => {
            return CallError::TableExceeded { limit: limits.table_elements, requested };
        }
        None => {}
    }
    let name = trap.map_or_else(|| "error".to_owned(), |trap| trap.to_string());
    let message = supervision.last_message().map_or_else(|| trap_sentence(trap, error), str::to_owned);
    CallError::Trap { trap: name, message }
}

fn fuel_exhausted(supervision: &Supervision, spent: BudgetUsage) -> CallError {
    if let Some(day) = supervision.day_used_up() {
        return CallError::DayUsedUp { day, has_run: true };
    }
    let limit = supervision.fuel_limit();
    CallError::FuelExhausted { limit, used: spent.fuel.unwrap_or(limit) }
}

/// Wasmtime's description of a failure. The backtrace goes to the log only.
fn trap_sentence(trap: Option<Trap>, error: &Error) -> String {
    tracing::debug!("a guest trapped: {}", printable(&format!("{error:?}")));
    trap.map_or_else(|| error.root_cause().to_string(), |trap| trap.to_string())
}
