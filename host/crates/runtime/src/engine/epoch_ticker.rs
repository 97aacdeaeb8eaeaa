//! The epoch ticker: makes every running guest yield regularly. It sleeps while no guest runs.

use platform::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;
use wasmtime::{Engine, EngineWeak};

/// How often a guest yields to the executor and its CPU time is checked.
const TICK: Duration = Duration::from_millis(5);
/// Ticks without a guest after which the ticker sleeps. Waking it takes longer than a short call, so calls that follow
/// each other should find it awake.
const IDLE_TICKS: u32 = 100;

/// Ticks for all engines of the process. A thread and not a task, because it has to interrupt guests that keep the
/// executor busy.
struct EpochTicker {
    engines: Mutex<Vec<EngineWeak>>,
    thread: Mutex<Option<Thread>>,
    /// Threads that run a guest at this moment.
    running: AtomicUsize,
    /// Whether a guest has run since the last tick.
    has_run: AtomicBool,
    sleeps: AtomicBool,
}

static TICKER: EpochTicker = EpochTicker::new();

/// A guest runs on this thread until this is dropped.
pub(super) struct RunningGuest(&'static EpochTicker);

/// Advances an engine's epoch while guests run, for as long as anything uses the engine.
pub(super) fn start(engine: &Engine) -> std::io::Result<()> {
    TICKER.engines.lock().push(engine.weak());
    TICKER.start()
}

/// Keeps the epoch advancing while a guest runs.
pub(super) fn guest_runs() -> RunningGuest {
    TICKER.guest_runs()
}

impl EpochTicker {
    const fn new() -> Self {
        Self {
            engines: Mutex::new(Vec::new()),
            thread: Mutex::new(None),
            running: AtomicUsize::new(0),
            has_run: AtomicBool::new(false),
            sleeps: AtomicBool::new(false),
        }
    }

    fn start(&'static self) -> std::io::Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let builder = thread::Builder::new().name("epoch".into()).stack_size(128 << 10);
            *thread = Some(builder.spawn(|| self.run())?.thread().clone());
        }
        Ok(())
    }

    fn guest_runs(&'static self) -> RunningGuest {
        // The reverse order of `run`: either the ticker sees this guest before it sleeps, or the guest sees that it sleeps.
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst)
            && let Some(thread) = &*self.thread.lock()
        {
            thread.unpark();
        }
        RunningGuest(self)
    }

    fn run(&self) {
        let mut idle_ticks = 0;
        loop {
            self.engines.lock().retain(|engine| {
                engine.upgrade().is_some_and(|engine| {
                    engine.increment_epoch();
                    true
                })
            });
            let is_idle = !self.has_run.swap(false, Ordering::Relaxed) && self.running.load(Ordering::SeqCst) == 0;
            idle_ticks = if is_idle { idle_ticks + 1 } else { 0 };
            if idle_ticks < IDLE_TICKS {
                thread::sleep(TICK);
                continue;
            }
            self.sleeps.store(true, Ordering::SeqCst);
            if self.running.load(Ordering::SeqCst) == 0 {
                thread::park();
            }
            self.sleeps.store(false, Ordering::SeqCst);
            idle_ticks = 0;
        }
    }
}

impl Drop for RunningGuest {
    fn drop(&mut self) {
        self.0.has_run.store(true, Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn wait_for(condition: impl Fn() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < Duration::from_secs(60), "it never happens");
            thread::sleep(TICK);
        }
    }

    #[test]
    fn it_sleeps_while_no_guest_runs_and_ticks_while_one_does() {
        let ticker: &'static EpochTicker = Box::leak(Box::new(EpochTicker::new()));
        ticker.start().unwrap();
        for _ in 0..3 {
            wait_for(|| ticker.sleeps.load(Ordering::SeqCst));
            let guest = ticker.guest_runs();
            wait_for(|| !ticker.sleeps.load(Ordering::SeqCst));
            // It looks again with every tick, and does not sleep however long the guest runs.
            for _ in 0..2 {
                ticker.has_run.store(true, Ordering::SeqCst);
                wait_for(|| !ticker.has_run.load(Ordering::SeqCst));
            }
            assert!(!ticker.sleeps.load(Ordering::SeqCst));
            drop(guest);
        }
    }
}
