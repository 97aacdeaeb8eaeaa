//! What suspended calls hold, against the limits.

use policy::ParkedCallLimits;
use runtime::engine::Held;

/// What a suspended call counts as: one that holds no instance, such as an upstream's, counts as one.
pub(super) fn counted(held: Held) -> Held {
    Held { instances: held.instances.max(1), ..held }
}

/// Whether this is within the limits of all.
pub(super) fn fits(held: Held, limits: &ParkedCallLimits) -> bool {
    held.instances <= limits.calls as u64 && held.bytes <= limits.memory.as_u64()
}

/// The part of the limits that this takes, by whichever it takes more of; only comparable under the same limits.
pub(super) fn share(held: Held, limits: &ParkedCallLimits) -> u128 {
    let (calls, memory) = (limits.calls as u128, u128::from(limits.memory.as_u64()));
    (u128::from(held.instances) * memory).max(u128::from(held.bytes) * calls)
}
