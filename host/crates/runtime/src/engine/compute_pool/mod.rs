//! The compute pool: threads on which long-running guests compute.
//!
//! The main runtime's threads read requests, write answers and run short calls, for everybody. A guest that computes
//! for long there would delay all of that, one slice at each step. So it moves to this pool: as many threads as
//! processors, at a lower priority than the main threads. When the main threads are idle, the pool loses nothing by
//! that.
//!
//! Tasks take turns in the order of a [`FairQueue`](super::fair_queue::FairQueue): a plugin with many computing calls
//! gets no more than its neighbour with one. A task occupies a thread only while it is polled; a call that waits, is
//! parked or was dropped occupies none.

mod pool;
mod task;

pub(super) use pool::ComputePool;
pub use pool::{TaskOwner, is_compute_thread, shut_down_compute_pool};
pub use task::{ComputePoll, poll_compute};

#[cfg(test)]
mod tests;
