//! Compares what suspended calls hold with the limits.

use policy::ParkedCallLimits;
use runtime::engine::Held;

/// Counts a suspended call as at least one instance, even if it holds none, as a call of an upstream server does.
pub(super) fn counted(held: Held) -> Held {
    Held { instances: held.instances.max(1), ..held }
}

/// Whether this is within the limits.
pub(super) fn fits(held: Held, limits: &ParkedCallLimits) -> bool {
    held.instances <= limits.calls as u64 && held.bytes <= limits.memory.as_u64()
}

/// The part of the limits that this uses: of calls or of memory, whichever is larger. Only comparable under the same limits.
pub(super) fn share(held: Held, limits: &ParkedCallLimits) -> u128 {
    let (calls, memory) = (limits.calls as u128, u128::from(limits.memory.as_u64()));
    (u128::from(held.instances) * memory).max(u128::from(held.bytes) * calls)
}
