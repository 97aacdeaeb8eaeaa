//! Who starts where: a call on the thread that it came in on, as short ones should, or in the slow lane, as long ones and
//! crowds should.
//!
//! That cannot be known before, but foreseen: calls of one plugin are mostly alike. Those of a plugin that are on the main
//! threads together may have the others wait for one slice, reckoned by how many they are and how long each computes,
//! as far as it has shown or is usual. So a lone call that is not known to be longer begins at once, and so does a
//! crowd of short ones; of a crowd of long ones all but the first begin in the lane.

use super::cpu::CpuTime;
use super::lane::{Lane, Who};
use futures::future::BoxFuture;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

/// CPU time that all calls of one plugin may take of the main threads before they make room: a tick.
const SLICE: Duration = Duration::from_millis(5);
/// The usual length follows the last calls, as many as this.
const LAST: u64 = 8;

/// How long calls of one component compute, and how many are on the main threads. Clones are the same.
#[derive(Clone, Default)]
pub struct Pace(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Nanoseconds, at most two slices.
    usual: AtomicU64,
    first: AtomicU64,
}

/// A call that is on the main threads.
struct First<'a>(&'a Shared);

impl Shared {
    /// Whether as many calls of this length are too much.
    fn is_too_much(&self, calls: u64, length: Duration) -> bool {
        calls.saturating_mul(nanos(length)) > nanos(SLICE)
    }

    fn enter(&self) -> Option<First<'_>> {
        let first = First(self);
        let calls = self.first.fetch_add(1, Ordering::Relaxed) + 1;
        let usual = Duration::from_nanos(self.usual.load(Ordering::Relaxed));
        (!self.is_too_much(calls, usual)).then_some(first)
    }

    fn learn(&self, length: Duration) {
        let (usual, length) = (self.usual.load(Ordering::Relaxed), nanos(length.min(SLICE * 2)));
        // Two that learn at once may lose one lesson.
        self.usual.store((usual * (LAST - 1) + length) / LAST, Ordering::Relaxed);
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.0.first.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a call teaches when it is over or has been given up.
struct Lesson<'a>(&'a Shared, CpuTime);

impl Drop for Lesson<'_> {
    fn drop(&mut self) {
        self.0.learn(self.1.own());
    }
}

impl Pace {
    /// Runs a call whose time is `cpu`, where it delays nobody. Dropped, it drops the call.
    pub async fn run<T: Send + 'static>(&self, who: Who, cpu: CpuTime, mut call: BoxFuture<'static, T>) -> T {
        let lesson = Lesson(&self.0, cpu.clone());
        if let Some(first) = self.0.enter() {
            let on_main = poll_fn(|cx| {
                if let Poll::Ready(done) = call.as_mut().poll(cx) {
                    return Poll::Ready(Some(done));
                }
                // It has yielded, or waits.
                match self.0.is_too_much(self.0.first.load(Ordering::Relaxed), cpu.own()) {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                }
            });
            if let Some(done) = on_main.await {
                return done;
            }
            drop((first, lesson));
        }
        match Lane::of_process() {
            Some(lane) => lane.run(who, call).await,
            None => call.await,
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::is_slow;
    use futures::FutureExt as _;
    use futures::future::join_all;
    use platform::clock::Clock;
    use policy::{PluginId, Side};
    use std::time::Instant;

    /// Threads compute as long as they are said to.
    #[derive(Default)]
    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            platform::clock::SystemClock.now()
        }

        fn cpu(&self) -> Duration {
            Duration::from_nanos(self.0.load(Ordering::Relaxed))
        }
    }

    /// A call that computes so long in so many steps; says at which steps it was in the lane.
    async fn call(pace: &Pace, step: Duration, steps: usize) -> Vec<bool> {
        let hand = Arc::new(Hand::default());
        let cpu = CpuTime::new(hand.clone());
        let computing = async move {
            let mut slow = vec![];
            for _ in 0..steps {
                hand.0.fetch_add(nanos(step), Ordering::Relaxed);
                slow.push(is_slow());
                tokio::task::yield_now().await;
            }
            slow
        };
        let measured = cpu.measure(Box::pin(computing)).boxed();
        pace.run(("ann".into(), PluginId { side: Side::Server, name: "p".into() }), cpu, measured).await
    }

    #[tokio::test]
    async fn short_calls_stay_and_long_ones_go() {
        let (pace, short) = (Pace::default(), SLICE / 100);
        assert_eq!(call(&pace, short, 3).await, [false; 3]);
        let crowd = join_all((0..90).map(|_| call(&pace, short, 1))).await;
        assert!(crowd.concat().iter().all(|slow| !slow), "a crowd of short ones is no burden");
        assert_eq!(call(&pace, SLICE * 2, 3).await, [false, true, true], "the first slice is for everybody");
        assert_eq!(pace.0.first.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn of_a_crowd_of_long_ones_few_begin_on_the_main_threads() {
        let (pace, long) = (Pace::default(), SLICE - SLICE / 10);
        for _ in 0..4 * LAST {
            assert_eq!(call(&pace, long, 1).await, [false], "a lone one begins at once");
        }
        let crowd = join_all((0..64).map(|_| call(&pace, long, 1))).await.concat();
        assert_eq!(crowd.iter().filter(|slow| !**slow).count(), 1);
        // What is past is forgotten.
        for _ in 0..8 * LAST {
            call(&pace, SLICE / 1_000, 1).await;
        }
        let crowd = join_all((0..64).map(|_| call(&pace, SLICE / 1_000, 1))).await.concat();
        assert!(crowd.iter().all(|slow| !slow));
        assert_eq!(pace.0.first.load(Ordering::Relaxed), 0);
    }
}
