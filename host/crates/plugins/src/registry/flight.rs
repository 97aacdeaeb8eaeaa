//! One compilation of a component at a time: whoever needs the same one meanwhile waits for its result, good or bad.
//! Otherwise a list of plugins that share their bytes would compile them as often as it names them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::OnceCell;

/// What is under way, by key. What is over is forgotten: the next who asks begins anew.
pub(super) struct Flights<K, V>(Mutex<HashMap<K, Weak<OnceCell<V>>>>);

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Flights<K, V> {
    /// The result of what is under way for this key, or of `work`, which then is. When whoever does the work is dropped,
    /// one of those who wait does theirs.
    pub(super) async fn join(&self, key: K, work: impl Future<Output = V>) -> V {
        let cell = {
            let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            flights.retain(|_, flight| flight.strong_count() > 0);
            let under_way = flights.get(&key).and_then(Weak::upgrade);
            under_way.unwrap_or_else(|| {
                let cell = Arc::new(OnceCell::new());
                flights.insert(key, Arc::downgrade(&cell));
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
    async fn ten_who_want_the_same_do_it_once() {
        let (flights, done) = (Flights::<u8, u32>::default(), AtomicU32::new(0));
        let work = || async {
            tokio::task::yield_now().await;
            done.fetch_add(1, Ordering::Relaxed)
        };
        let all = join_all((0..10).map(|_| flights.join(7, work()))).await;
        assert_eq!((all, done.load(Ordering::Relaxed)), (vec![0; 10], 1));
        assert_eq!(flights.join(7, work()).await, 1, "what is over is forgotten");
        join_all((0..10).map(|key| flights.join(key, work()))).await;
        assert_eq!(done.load(Ordering::Relaxed), 12, "others do not wait for one another");
    }

    #[tokio::test]
    async fn somebody_else_goes_on_when_the_first_is_gone() {
        let flights = Flights::<u8, u32>::default();
        let mut first = Box::pin(flights.join(7, std::future::pending()));
        let mut second = Box::pin(flights.join(7, async { 2 }));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        drop(first);
        assert_eq!(second.await, 2);
    }
}
