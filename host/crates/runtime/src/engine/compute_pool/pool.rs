//! The threads of the pool, and the queue of tasks that wait for a turn on one of them.

use super::super::fair_queue::FairQueue;
use platform::sync::Mutex;
use policy::{PluginId, Principal};
use std::cell::Cell;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How much the threads lower their priority, as `nice` counts. Enough for the kernel to give the processor at once to
/// a main thread that wakes up. At more, guests would starve beside other programs of this user; at this value they get
/// a third of those programs' time.
#[cfg(target_os = "linux")]
pub(super) const NICE: i32 = 5;
/// How long the shutdown waits for the polls that are running.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// One for the process, because all users share the machine's processors.
static PROCESS: OnceLock<Arc<ComputePool>> = OnceLock::new();

thread_local! {
    static IS_COMPUTE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// The principal and the plugin that a task computes for.
pub type TaskOwner = (Principal, PluginId);

#[derive(Default)]
pub(in super::super) struct ComputePool {
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    queue: FairQueue<Arc<dyn PoolTask>>,
    threads: usize,
    /// Tasks that are having their turn.
    running: usize,
    is_shut_down: bool,
}

pub(super) trait PoolTask: Send + Sync {
    fn take_turn(self: Arc<Self>);
}

pub fn is_compute_thread() -> bool {
    IS_COMPUTE_THREAD.get()
}

/// Ends all computing for good. Has to happen before the runtime that the tasks belong to is dropped.
pub fn shut_down_compute_pool() {
    if let Some(pool) = PROCESS.get() {
        pool.shut_down();
    }
}

impl ComputePool {
    /// The pool of this process; none if no thread could be started.
    pub(in super::super) fn global() -> Option<Arc<Self>> {
        let pool = PROCESS.get_or_init(|| {
            let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
            Self::with_threads(processors)
        });
        let has_threads = pool.lock().threads > 0;
        has_threads.then(|| pool.clone())
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }

    pub(super) fn with_threads(threads: usize) -> Arc<Self> {
        let pool = Arc::new(Self::default());
        for _ in 0..threads {
            let worker = pool.clone();
            match std::thread::Builder::new().name("guests".into()).spawn(move || worker.run_tasks()) {
                Ok(_) => pool.lock().threads += 1,
                Err(error) => tracing::warn!("cannot start a thread for long-running guests: {error}"),
            }
        }
        pool
    }

    fn run_tasks(&self) {
        IS_COMPUTE_THREAD.set(true);
        lower_priority();
        while let Some(task) = self.next_task() {
            // A task passes a panic of its future on to its caller. A panic in a drop belongs to nobody and is in the
            // log.
            let _ = catch_unwind(AssertUnwindSafe(|| task.take_turn()));
            self.lock().running -= 1;
            if self.lock().is_shut_down {
                self.changed.notify_all();
            }
        }
    }

    /// Waits for a task. None when the pool is shut down.
    fn next_task(&self) -> Option<Arc<dyn PoolTask>> {
        let mut state = self.lock();
        loop {
            if state.is_shut_down {
                return None;
            }
            if let Some((_, _, task)) = state.queue.pop(|_| true, |_, _| true) {
                state.running += 1;
                return Some(task);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn enqueue(&self, (principal, plugin): &TaskOwner, task: Arc<dyn PoolTask>) {
        self.lock().queue.push_back(principal, plugin, task);
        self.changed.notify_one();
    }

    pub(super) fn shut_down(&self) {
        let mut state = self.lock();
        state.is_shut_down = true;
        self.changed.notify_all();
        // Tasks are dropped after the lock is released.
        let queued = std::mem::take(&mut state.queue);
        let ended = self.changed.wait_timeout_while(state, SHUTDOWN_TIMEOUT, |state| state.running > 0);
        drop(ended);
        drop(queued);
    }

    #[cfg(test)]
    pub(super) fn is_shut_down(&self) -> bool {
        self.lock().is_shut_down
    }
}

/// Lets the main threads go first. Only Linux has a priority per thread; elsewhere all have the same.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!("long-running guests keep the priority of the main threads: {error}");
    }
}
