//! The rest of a call's budget.

use std::time::Duration;

use crate::imports;

/// Fuel left, about one unit per WebAssembly instruction; `None` when the call is metered by CPU time.
pub fn fuel_left() -> Option<u64> {
    imports::fuel_left()
}

/// Time until the call is stopped.
pub fn deadline_left() -> Duration {
    Duration::from_millis(imports::deadline_left())
}
