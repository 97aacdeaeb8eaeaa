//! CPU time of one call: what threads spend on it while they poll its future. A thread that has to stand back meanwhile,
//! because there is more to do than there are processors, spends nothing.

use platform::clock::Clock;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Adds up the time a call spends on a CPU, host work and nested calls included, waiting excluded.
///
/// A guest yields at every epoch tick, so a poll lasts about a tick; the sum is exact to that.
#[derive(Clone)]
pub struct CpuTime {
    clock: Arc<dyn Clock>,
    /// Nanoseconds of finished polls.
    done: Arc<AtomicU64>,
    /// Nanoseconds that others spent on the call's behalf; part of `done`.
    elsewhere: Arc<AtomicU64>,
    /// When the running poll began: nanoseconds of CPU time that its thread had had.
    since: Arc<AtomicU64>,
}

impl CpuTime {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, done: Arc::default(), elsewhere: Arc::default(), since: Arc::default() }
    }

    /// The same clock, counting from now.
    pub(super) fn restarted(&self) -> Self {
        Self::new(self.clock.clone())
    }

    /// What the clock says.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// CPU time of this thread in nanoseconds.
    fn thread(&self) -> u64 {
        u64::try_from(self.clock.cpu().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Counts time that was spent on the call's behalf, but not while it was polled.
    pub(super) fn add(&self, elsewhere: Duration) {
        let nanos = u64::try_from(elsewhere.as_nanos()).unwrap_or(u64::MAX);
        self.done.fetch_add(nanos, Ordering::Relaxed);
        self.elsewhere.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The part of the total that was added.
    pub(super) fn elsewhere(&self) -> Duration {
        Duration::from_nanos(self.elsewhere.load(Ordering::Relaxed))
    }

    /// CPU time of finished polls alone.
    pub(super) fn own(&self) -> Duration {
        self.total().saturating_sub(self.elsewhere())
    }

    /// CPU time of finished polls, and what was added.
    pub(super) fn total(&self) -> Duration {
        Duration::from_nanos(self.done.load(Ordering::Relaxed))
    }

    /// CPU time up to now, asked from inside a poll.
    pub(super) fn so_far(&self) -> Duration {
        self.total() + Duration::from_nanos(self.thread().saturating_sub(self.since.load(Ordering::Relaxed)))
    }

    /// Measures every poll of `future`.
    pub(super) fn measure<F: Future + Unpin>(&self, future: F) -> Measured<F> {
        Measured { cpu: self.clone(), future }
    }
}

/// A future whose polls are measured.
pub(super) struct Measured<F> {
    cpu: CpuTime,
    future: F,
}

impl<F: Future + Unpin> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let begin = self.cpu.thread();
        self.cpu.since.store(begin, Ordering::Relaxed);
        let polled = Pin::new(&mut self.future).poll(cx);
        let spent = self.cpu.thread().saturating_sub(begin);
        self.cpu.done.fetch_add(spent, Ordering::Relaxed);
        polled
    }
}
