//! Idempotency keys: a client that repeats a call under the same key gets the answer of the first, and nothing runs again.
//!
//! - `call_key` is a key with the call that it stands for; `record` is what is stored of it, `results` what is kept in the
//!   place of results that cannot be kept;
//! - `keys` has the keys of a store; with `claim`, one call of a key runs, and the others wait for it or get its answer;
//!   `claimed` is the key of a call that runs, until its end is stored;
//! - `running` lets one through and the others wait, in this process; `process` says whether another one still runs its calls;
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
