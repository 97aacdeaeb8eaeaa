//! Decides where a call starts: on the thread that received it, or in the compute pool.
//!
//! Calls of one plugin mostly take the same time, so the last calls predict the next. All calls of a plugin that are on
//! the main threads may together compute for one slice, estimated from their number and their usual length. So a lone
//! call that is not known to be long starts at once, and so does a crowd of short calls. Of a crowd of long calls, all
//! but the first start in the pool.

use super::compute_pool::{ComputePool, TaskOwner};
use super::cpu_time::CpuTime;
use futures::future::BoxFuture;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

/// CPU time that all calls of one plugin may use on the main threads before they move to the pool: one epoch tick.
const SLICE: Duration = Duration::from_millis(5);
/// Weight of the past in the moving average of call lengths.
const AVERAGED_CALLS: u64 = 8;

/// The usual length of the calls of one component, and how many are on the main threads. Clones share both.
#[derive(Clone, Default)]
pub struct Placement(Arc<Load>);

#[derive(Default)]
struct Load {
    /// Nanoseconds, at most two slices.
    average: AtomicU64,
    /// Calls on the main threads.
    on_main: AtomicU64,
}

/// Counts a call on the main threads until it is dropped.
struct OnMain<'a>(&'a Load);

impl Load {
    fn exceeds_slice(calls: u64, length: Duration) -> bool {
        calls.saturating_mul(nanos(length)) > nanos(SLICE)
    }

    /// Lets a call start on the main threads, if its plugin's calls there are expected to stay within the slice.
    fn enter_main(&self) -> Option<OnMain<'_>> {
        let entered = OnMain(self);
        let calls = self.on_main.fetch_add(1, Ordering::Relaxed) + 1;
        let average = Duration::from_nanos(self.average.load(Ordering::Relaxed));
        (!Self::exceeds_slice(calls, average)).then_some(entered)
    }

    fn update_average(&self, length: Duration) {
        let (average, length) = (self.average.load(Ordering::Relaxed), nanos(length.min(SLICE * 2)));
        // If two updates happen at the same moment, one may be lost; the average is only an estimate.
        self.average.store((average * (AVERAGED_CALLS - 1) + length) / AVERAGED_CALLS, Ordering::Relaxed);
    }
}

impl Drop for OnMain<'_> {
    fn drop(&mut self) {
        self.0.on_main.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Updates the average when the call has ended, was dropped, or has left the main threads.
struct LengthRecorder<'a>(&'a Load, CpuTime);

impl Drop for LengthRecorder<'_> {
    fn drop(&mut self) {
        self.0.update_average(self.1.polled());
    }
}

impl Placement {
    /// Runs a call where it delays no others. `cpu` measures the call. Dropping the future drops the call.
    pub async fn run<T: Send + 'static>(&self, owner: TaskOwner, cpu: CpuTime, mut call: BoxFuture<'static, T>) -> T {
        let recorder = LengthRecorder(&self.0, cpu.clone());
        if let Some(entered) = self.0.enter_main() {
            let on_main = poll_fn(|cx| {
                if let Poll::Ready(result) = call.as_mut().poll(cx) {
                    return Poll::Ready(Some(result));
                }
                // The call has yielded, or it waits.
                match Load::exceeds_slice(self.0.on_main.load(Ordering::Relaxed), cpu.polled()) {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                }
            });
            if let Some(result) = on_main.await {
                return result;
            }
            drop((entered, recorder));
        }
        match ComputePool::global() {
            Some(pool) => pool.run(owner, call).await,
            None => call.await,
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::compute_pool::is_compute_thread;
    use super::*;
    use futures::FutureExt as _;
    use futures::future::join_all;
    use platform::clock::{Clock, SystemClock};
    use policy::{PluginId, Side};
    use std::time::Instant;

    /// A clock whose CPU time, in nanoseconds, the test sets.
    #[derive(Default)]
    struct ManualCpuClock(AtomicU64);

    impl Clock for ManualCpuClock {
        fn now(&self) -> Instant {
            SystemClock.now()
        }

        fn cpu(&self) -> Duration {
            Duration::from_nanos(self.0.load(Ordering::Relaxed))
        }
    }

    /// Runs a call of some steps of this length. Returns at which steps it was in the pool.
    async fn call(placement: &Placement, step: Duration, steps: usize) -> Vec<bool> {
        let clock = Arc::new(ManualCpuClock::default());
        let cpu = CpuTime::new(clock.clone());
        let computing = async move {
            let mut in_pool = vec![];
            for _ in 0..steps {
                clock.0.fetch_add(nanos(step), Ordering::Relaxed);
                in_pool.push(is_compute_thread());
                tokio::task::yield_now().await;
            }
            in_pool
        };
        let measured = cpu.measure(Box::pin(computing)).boxed();
        placement.run(("ann".into(), PluginId { side: Side::Server, name: "p".into() }), cpu, measured).await
    }

    #[tokio::test]
    async fn short_calls_stay_and_long_ones_move_to_the_pool() {
        let (placement, short) = (Placement::default(), SLICE / 100);
        assert_eq!(call(&placement, short, 3).await, [false; 3]);
        let crowd = join_all((0..90).map(|_| call(&placement, short, 1))).await;
        assert!(crowd.concat().iter().all(|in_pool| !in_pool), "a crowd of short calls stays within the slice");
        assert_eq!(call(&placement, SLICE * 2, 3).await, [false, true, true], "every call may use its first slice");
        assert_eq!(placement.0.on_main.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn of_a_crowd_of_long_calls_one_starts_on_the_main_threads() {
        let (placement, long) = (Placement::default(), SLICE - SLICE / 10);
        for _ in 0..4 * AVERAGED_CALLS {
            assert_eq!(call(&placement, long, 1).await, [false], "a lone call starts at once");
        }
        let crowd = join_all((0..64).map(|_| call(&placement, long, 1))).await.concat();
        assert_eq!(crowd.iter().filter(|in_pool| !**in_pool).count(), 1);
        // Later short calls outweigh the past.
        for _ in 0..8 * AVERAGED_CALLS {
            call(&placement, SLICE / 1_000, 1).await;
        }
        let crowd = join_all((0..64).map(|_| call(&placement, SLICE / 1_000, 1))).await.concat();
        assert!(crowd.iter().all(|in_pool| !in_pool));
        assert_eq!(placement.0.on_main.load(Ordering::Relaxed), 0);
    }
}
