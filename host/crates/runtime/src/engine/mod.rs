//! The only place that configures and runs wasmtime: profiles, compilation, the compile cache, limits, one call.
//!
//! A [`Store`](wasmtime::Store) is the unit of failure and of cancellation: it is created for one call and dropped after it. An
//! [`Allowance`] says what the call may use. A result or a [`CallError`] says how it ended, and a [`CallCost`] what it used.

mod artifact;
mod cache;
mod cache_pruning;
mod catch_panic;
mod charge;
mod compile;
mod compute_pool;
mod cpu_time;
mod detached_compile;
mod epoch_ticker;
mod error;
mod fair_queue;
mod fair_semaphore;
mod fuel_account;
mod fuel_report;
mod held_resources;
mod incremental;
mod instance_shares;
mod large_work;
mod limiter;
mod memory_image;
mod pausable_clock;
mod placement;
mod preinitialize;
mod profile;
mod snapshot;
mod store;
mod supervision;
mod trap;
mod worker;

pub use cache::{CacheError, CompileCache};
pub use catch_panic::catch_panic;
pub(crate) use charge::charge;
pub use compile::{CompileError, CompiledComponent, Compiler};
pub use compute_pool::{ComputePoll, TaskOwner, is_compute_thread, poll_compute, shut_down_compute_pool};
pub use cpu_time::CpuTime;
pub use detached_compile::{COMPILE_TO_CACHE_COMMAND, run_compile_to_cache};
pub use error::{BusyResource, CallError, RateSubject};
pub use fair_semaphore::{FairSemaphore, QueueFull, Slot, SlotLimits, SlotRequest};
pub use fuel_account::{FuelAccount, FuelPayer, FuelStanding, TreeFuel, Wait};
pub use fuel_report::FuelReport;
pub use held_resources::{Held, HeldResources};
pub use instance_shares::{InstancePermit, InstanceShares};
pub use large_work::{is_large, run_in_pool, work_in_pool_if_large};
pub use pausable_clock::{PausableClock, PauseGuard};
pub use placement::Placement;
pub use preinitialize::{PreinitializeError, Preinitialized, preinitialize};
pub use profile::{Engines, MAX_INSTANCES, MAX_WAITING_INSTANCES, Profile, open_page_map};
pub use snapshot::{MountedFolder, RunningComponent, SnapshotCompiler, SnapshotError};
pub use store::{new_store, start_metering, supervise};
pub use supervision::{Allowance, CallCost, Supervised, Supervision};
pub use wasmtime::component::Component;
pub use worker::{CompileWorker, WORKER_COMMAND, run_worker};
