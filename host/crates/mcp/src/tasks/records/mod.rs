//! What is known of a task: its record in the store, its entry in the table of this process, and what its call needs to be made again.

pub(super) mod asked;
pub(super) mod call;
pub(super) mod control;
pub(super) mod fuel;
pub(super) mod keys;
pub(super) mod record;
pub(super) mod samples;
pub(super) mod shown_calls;
pub(super) mod table;
