//! CPU time of one call: what threads spend on it while they poll its future. A thread that is preempted meanwhile
//! spends nothing.

use super::epoch_ticker;
use platform::clock::Clock;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// Adds up the CPU time of a call, including host work and nested calls, excluding waiting. Clones share the sum.
///
/// A guest yields at every epoch tick, so a poll lasts about a tick, and the sum is at most that late.
#[derive(Clone)]
pub struct CpuTime {
    clock: Arc<dyn Clock>,
    sums: Arc<Sums>,
}

/// In nanoseconds.
#[derive(Default)]
struct Sums {
    /// CPU time of finished polls and of external work.
    total: AtomicU64,
    /// What others spent on the call's behalf; included in `total`.
    external: AtomicU64,
    /// CPU time of the polling thread when the running poll began.
    poll_began: AtomicU64,
}

impl CpuTime {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, sums: Arc::default() }
    }

    /// The same clock, counting from now.
    pub(super) fn restarted(&self) -> Self {
        Self::new(self.clock.clone())
    }

    /// CPU time of this thread in nanoseconds.
    fn thread_nanos(&self) -> u64 {
        u64::try_from(self.clock.cpu().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Counts CPU time that was spent on the call's behalf outside of its polls.
    pub(super) fn add_external(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.sums.total.fetch_add(nanos, Ordering::Relaxed);
        self.sums.external.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The part of the total that was not spent in polls.
    pub(super) fn external(&self) -> Duration {
        Duration::from_nanos(self.sums.external.load(Ordering::Relaxed))
    }

    /// CPU time of finished polls.
    pub(super) fn polled(&self) -> Duration {
        self.total().saturating_sub(self.external())
    }

    /// CPU time of finished polls and of external work.
    pub(super) fn total(&self) -> Duration {
        Duration::from_nanos(self.sums.total.load(Ordering::Relaxed))
    }

    /// CPU time up to now, the running poll included. Called from inside a poll.
    pub(super) fn up_to_now(&self) -> Duration {
        self.total()
            + Duration::from_nanos(self.thread_nanos().saturating_sub(self.sums.poll_began.load(Ordering::Relaxed)))
    }

    pub(super) fn measure<F: Future + Unpin>(&self, future: F) -> MeasuredFuture<F> {
        MeasuredFuture { cpu: self.clone(), future }
    }
}

/// A future that runs a guest, whose polls are measured.
pub(super) struct MeasuredFuture<F> {
    cpu: CpuTime,
    future: F,
}

impl<F: Future + Unpin> Future for MeasuredFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = self.cpu.thread_nanos();
        self.cpu.sums.poll_began.store(began, Ordering::Relaxed);
        let running = epoch_ticker::guest_runs();
        let polled = Pin::new(&mut self.future).poll(cx);
        drop(running);
        let spent = self.cpu.thread_nanos().saturating_sub(began);
        self.cpu.sums.total.fetch_add(spent, Ordering::Relaxed);
        polled
    }
}
