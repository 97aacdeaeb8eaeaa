//! Idempotency keys: a client that repeats a call under the same key gets the first response again, and nothing runs twice.
//!
//! - `call_key` is a key and the call that it stands for; `record` is the stored form of a key; `results` replaces results that
//!   are unknown or cannot be kept;
//! - `keys` has the keys of a store; `claim` lets one call of a key run, while other requests wait for it or get its response;
//!   `claimed` is the key of a running call, until its end is stored;
//! - `running` lets one request of this process through at a time; `process` finds out whether another process still runs its
//!   calls;
//! - `table` counts keys against the limits; `upkeep` removes expired ones, and sleeps while there is nothing to do.

mod call_key;
mod claim;
mod claimed;
mod keys;
mod process;
mod record;
mod results;
mod running;
mod table;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use call_key::{CallKey, KeyScope};
pub(crate) use claim::{Claim, NoClaim};
pub(crate) use claimed::ClaimedKey;
pub use keys::IdempotencyKeys;
pub(crate) use results::{
    cancelled, given_up, not_kept, not_kept_any_more, outcome_unknown, outcome_unknown_without_key,
};
pub(crate) use running::MOST_WAITING;
