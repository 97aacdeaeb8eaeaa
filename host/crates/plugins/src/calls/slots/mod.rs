//! Lets calls in: rates, circuit breakers, and slots among the running calls, which are given to others while a call waits.

pub(super) mod admission;
pub(super) mod clean_up;
pub(super) mod idle;
pub(super) mod root_slot;
pub(super) mod waiting_client;
