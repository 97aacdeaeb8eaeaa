//! The journal of a call: what its guest has learnt from outside, and what it has done there, step by step.
//!
//! A guest's result depends on its component, its arguments and the answers of its imports. With all of these at hand, a
//! fresh instance gets to where an earlier one was by running again: imports answer from the journal, and what was done
//! is not done twice. Past the last step the call goes on as if nothing had happened.
//!
//! - Each import call that asks or does something is a **step**. Steps are numbered in the order in which the guest makes
//!   them; steps of a nested call are numbered below the step that made the call. A step knows its import and a digest of
//!   its arguments: if they differ when it is replayed, the call has **diverged** and ends.
//! - An **answer** is recorded once it is there. An **effect** is recorded before it happens, and again with its outcome.
//!   If only the first record is there, the effect is made again where that is safe; otherwise somebody is
//!   asked who may know ([`OutcomeInquiry`]); else the call ends in that state ([`JournalProblem::Unknown`]).
//! - An answer that says **nothing**, such as "no message yet", is not recorded as long as nothing depends on it (`polls`).
//! - A long **wait** is recorded when it begins: a later run waits for what is left of it (`time`).
//! - Records of a durable call are stored before anything that depends on them leaves the call. Other calls keep them in
//!   memory, for the case that they are parked or become tasks.
//! - A record may have a **remark** for people who look at the call: how long the step took, and the tool or host that it is
//!   about.
//! - A **checkpoint** is what the guest has saved: a later run goes on from there, and the steps before are forgotten. What its
//!   fresh instance has to ask again is no step (`instance_start`).
//!
//! An import that cannot be replayed yet reports it ([`CallJournal::cannot_replay`]). Its call runs as usual, and ends with its
//! process.

mod call_journal;
mod checkpoint;
mod compaction;
mod entry;
mod first_effect;
mod forgotten;
mod inquiry;
mod instance_start;
mod limits;
mod log;
mod log_writer;
#[cfg(test)]
mod poll_tests;
mod polls;
mod problem;
#[cfg(test)]
mod program_tests;
mod records;
mod remark;
mod snapshot;
#[cfg(test)]
mod snapshot_tests;
mod step;
#[cfg(test)]
mod tests;
mod time;
mod under_way;

pub use call_journal::CallJournal;
pub use checkpoint::Checkpoint;
pub(crate) use entry::bytes;
pub use entry::{Entry, Phase, Repeat, byte_strings, decode, encode};
pub use first_effect::EffectGuard;
pub use inquiry::OutcomeInquiry;
pub use limits::JournalLimits;
pub use log::{BeforeCheckpoint, JournalLog, JournalRoom, RoomChange};
pub use problem::JournalProblem;
pub use remark::Remark;
pub(crate) use step::StartedEffect;
pub use step::Step;
pub(crate) use time::is_long;
