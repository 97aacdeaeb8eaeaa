//! Work that is known to be long before it begins and that nothing can interrupt, such as putting a large answer into
//! words: it is done in the slow lane from its beginning, wherever it was going on before.

use super::compute_pool::{ComputePool, TaskOwner, is_compute_thread};
use futures::future::BoxFuture;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

/// Bytes of an answer from which on what is done with it takes some milliseconds.
const LARGE: u64 = 256 << 10;

thread_local! {
    /// Set by whatever this thread polls when the rest of it is heavy.
    static BEGINS: RefCell<Option<TaskOwner>> = const { RefCell::new(None) };
}

/// Whether work is heavy from now on, and on whose behalf. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Heavy(Arc<OnceLock<TaskOwner>>);

impl Heavy {
    /// Says so. Whoever waits in [`Heavy::run`] has to be woken after this.
    pub fn set(&self, who: TaskOwner) {
        // The first owner is charged.
        let _ = self.0.set(who);
    }

    /// On whose behalf, if it is.
    pub fn who(&self) -> Option<&TaskOwner> {
        self.0.get()
    }

    /// Does it, on the thread that it is polled on as long as it is light.
    pub async fn run<T: Send + 'static>(&self, mut work: BoxFuture<'static, T>) -> T {
        let light = poll_fn(|cx| {
            if self.who().is_some() {
                return Poll::Ready(None);
            }
            // What somebody else said, whom nobody heard, is not about this.
            BEGINS.take();
            let polled = work.as_mut().poll(cx);
            if let Some(who) = BEGINS.take() {
                self.set(who);
            }
            polled.map(Some)
        });
        if let Some(done) = light.await {
            return done;
        }
        match (ComputePool::global(), self.who()) {
            (Some(lane), Some(who)) => lane.run(who.clone(), work).await,
            _ => work.await,
        }
    }
}

/// Waits until something may be done with an answer of so many bytes: if that takes long, [`Heavy::run`] around it goes on
/// in the slow lane.
pub async fn heavy_if_large(bytes: u64, who: impl FnOnce() -> TaskOwner) {
    if bytes < LARGE || is_compute_thread() {
        return;
    }
    BEGINS.set(Some(who()));
    tokio::task::yield_now().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use policy::{PluginId, Side};
    use tokio::sync::oneshot;

    fn who() -> TaskOwner {
        ("ann".into(), PluginId { side: Side::Server, name: "p".into() })
    }

    /// Whether the work was in the lane before an answer of so many bytes, and after it.
    async fn answer(heavy: &Heavy, bytes: u64) -> [bool; 2] {
        let work = async move {
            let before = is_compute_thread();
            heavy_if_large(bytes, who).await;
            [before, is_compute_thread()]
        };
        heavy.run(work.boxed()).await
    }

    #[tokio::test]
    async fn what_is_large_goes_to_the_lane_and_what_is_small_stays() {
        let (small, large) = (Heavy::default(), Heavy::default());
        assert_eq!(answer(&small, LARGE - 1).await, [false, false]);
        assert_eq!(small.who(), None);
        assert_eq!(answer(&large, LARGE).await, [false, true]);
        assert_eq!(large.who(), Some(&who()));
        assert_eq!(answer(&large, 0).await, [true, true], "what comes of it is there from its beginning");
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_in_the_lane_once_it_is_said() {
        let heavy = Heavy::default();
        let (send, receive) = oneshot::channel();
        let waits = heavy.run(async { (is_compute_thread(), receive.await, is_compute_thread()) }.boxed());
        let says = async {
            tokio::task::yield_now().await;
            heavy.set(who());
            send.send(7).unwrap();
        };
        let (waited, ()) = futures::join!(waits, says);
        assert_eq!(waited, (false, Ok(7), true));
    }

    #[tokio::test]
    async fn what_nobody_heard_is_forgotten() {
        heavy_if_large(LARGE, who).await;
        assert_eq!(answer(&Heavy::default(), 0).await, [false, false]);
        // Said inside, it is heard by whoever is around it, however far.
        let outer = Heavy::default();
        let inner = async {
            tokio::task::unconstrained(heavy_if_large(LARGE, who)).await;
            is_compute_thread()
        };
        assert!(outer.run(inner.boxed()).await);
    }

    #[tokio::test]
    async fn a_panic_is_whose_work_it_was() {
        let work = async {
            heavy_if_large(LARGE, who).await;
            panic!("of the work");
        };
        let heavy = Heavy::default();
        let ended = std::panic::AssertUnwindSafe(heavy.run::<()>(work.boxed())).catch_unwind().await;
        assert!(ended.is_err());
        assert_eq!(answer(&heavy, 0).await, [true, true], "and the lane goes on");
    }
}
