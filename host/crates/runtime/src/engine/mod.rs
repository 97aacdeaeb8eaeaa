//! The only place that configures and runs wasmtime: profiles, compilation, the compile cache, limits, one call.
//!
//! A [`Store`](wasmtime::Store) is the unit of failure and of cancellation: fresh for every call, dropped after it. What
//! a call may use is in its [`Allowance`]; how it ended is a result or a [`CallError`], and what it cost a [`Cost`].

mod artifact;
mod cache;
mod caught;
mod compile;
mod cpu;
mod error;
mod fair;
mod heavy;
mod lane;
mod limiter;
mod line;
mod pace;
mod profile;
mod pausable_deadline;
mod store;
mod ticker;
mod trap;
mod worker;

pub use cache::{CacheError, CompileCache};
pub use caught::caught;
pub use compile::{Cached, CompileError, Compiler, Fresh};
pub use cpu::CpuTime;
pub use error::{CallError, Caller, Crowd};
pub use fair::{FairSemaphore, QueueFull, Slot, SlotLimits, SlotRequest};
pub use heavy::{Heavy, heavy_if_large};
pub use lane::{Progress, close_lane, is_slow, progress};
pub use pace::Pace;
pub use profile::{Engines, MAX_INSTANCES, MAX_WAITING, Profile};
pub use pausable_deadline::{PausableDeadline, PauseGuard};
pub use store::{Allowance, Cost, Supervised, Supervision, arm, new_store, supervise};
pub use wasmtime::component::Component;
pub use worker::{CompileWorker, WORKER_COMMAND, run_worker};
