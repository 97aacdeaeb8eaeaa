//! Runs one piece of work per key at a time: concurrent callers share its result, good or bad. Without it, plugins that
//! share a component would each compile it.

use platform::sync::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;

/// Running work, by key. Finished work is forgotten, and starts again for the next caller.
pub(super) struct SingleFlight<K, V>(Mutex<HashMap<K, Weak<OnceCell<V>>>>);

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> SingleFlight<K, V> {
    /// Returns the result of the running work for this key, or else of `work`. When the caller that runs it is dropped, a
    /// waiting caller runs its own `work`.
    pub(super) async fn join(&self, key: K, work: impl Future<Output = V>) -> V {
        let cell = {
            let mut running = self.0.lock();
            running.retain(|_, cell| cell.strong_count() > 0);
            let current = running.get(&key).and_then(Weak::upgrade);
            current.unwrap_or_else(|| {
                let cell = Arc::new(OnceCell::new());
                running.insert(key, Arc::downgrade(&cell));
                cell
            })
        };
        cell.get_or_init(|| work).await.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn concurrent_callers_with_one_key_share_the_work() {
        let (flights, done) = (SingleFlight::<u8, u32>::default(), AtomicU32::new(0));
        let work = || async {
            tokio::task::yield_now().await;
            done.fetch_add(1, Ordering::Relaxed)
        };
        let all = join_all((0..10).map(|_| flights.join(7, work()))).await;
        assert_eq!((all, done.load(Ordering::Relaxed)), (vec![0; 10], 1));
        assert_eq!(flights.join(7, work()).await, 1, "finished work is forgotten");
        join_all((0..10).map(|key| flights.join(key, work()))).await;
        assert_eq!(done.load(Ordering::Relaxed), 12, "different keys do not wait for one another");
    }

    #[tokio::test]
    async fn a_waiting_caller_takes_over_from_a_dropped_one() {
        let flights = SingleFlight::<u8, u32>::default();
        let mut first = Box::pin(flights.join(7, std::future::pending()));
        let mut second = Box::pin(flights.join(7, async { 2 }));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        drop(first);
        assert_eq!(second.await, 2);
    }
}
