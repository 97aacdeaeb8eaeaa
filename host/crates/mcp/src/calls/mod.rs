//! Calls in progress: served round by round, parked between rounds, steered.

pub(crate) mod call_keeper;
mod legacy_questions;
pub(crate) mod live;
pub(crate) mod parked_calls;
pub(crate) mod parked_records;
mod parking_limits;
pub(crate) mod parking_store;
pub(crate) mod seal;
pub(crate) mod steering;
pub(crate) mod wait_permits;
