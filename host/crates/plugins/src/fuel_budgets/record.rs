//! What is stored of an owner's day.

use platform::durable::{InvalidKey, Key};
use policy::{Digest, Principal};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// In seconds.
pub(super) const DAY: u64 = 24 * 60 * 60;
pub(super) const PREFIX: &str = "fuel";

/// The owner of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum BudgetOwner {
    Host,
    Principal(Principal),
}

/// A day of one owner. What its tasks have paid is in the same record, so that both are stored or neither: a task that runs
/// again up to where it was pays for nothing twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DayRecord {
    /// Days since 1970, in UTC.
    pub(super) day: u64,
    /// Units that were used on it.
    pub(super) used: u64,
    /// What tasks have paid, by the ids of their calls.
    pub(super) tasks: HashMap<String, Paid>,
}

/// What a tree of calls has paid since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paid {
    pub(super) units: u64,
    /// The part of `units` that was given to this tree alone and counts for no day.
    pub(super) of_its_own: u64,
}

impl BudgetOwner {
    pub(super) fn key(&self) -> Result<Key, InvalidKey> {
        Key::new(match self {
            Self::Host => format!("{PREFIX}/host"),
            // Names of principals are longer than keys may be, and have other characters.
            Self::Principal(principal) => {
                format!("{PREFIX}/of/{}", Digest::sha256(principal.as_str().as_bytes()).hex())
            }
        })
    }
}

/// When a day ends, in seconds since 1970.
pub(super) fn end_of(day: u64) -> u64 {
    day.saturating_add(1).saturating_mul(DAY)
}
