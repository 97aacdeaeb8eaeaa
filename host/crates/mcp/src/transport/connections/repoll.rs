//! Polls a future again at once if it wakes itself while it is polled, as hyper's connections do when they begin to read a
//! body. tokio would put its task behind all others, and wake another thread to look for work.

use futures::task::AtomicWaker;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Polls in a row. After that, other tasks get their turn.
const MAX_POLLS: usize = 3;

pub(in crate::transport) struct Repoll<F> {
    future: F,
    wakes: Arc<Wakes>,
    /// The waker of `wakes`.
    waker: Waker,
}

#[derive(Default)]
struct Wakes {
    is_polling: AtomicBool,
    was_woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The order matters: either the task sees this flag after its poll, or this code sees that the poll is over.
        self.was_woken.store(true, Ordering::SeqCst);
        if !self.is_polling.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

impl<F> Repoll<F> {
    pub(in crate::transport) fn new(future: F) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self { future, waker: wakes.clone().into(), wakes }
    }
}

impl<F: Future + Unpin> Future for Repoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, wakes, waker } = &mut *self;
        wakes.task.register(cx.waker());
        for _ in 0..MAX_POLLS {
            wakes.is_polling.store(true, Ordering::SeqCst);
            wakes.was_woken.swap(false, Ordering::SeqCst);
            if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            wakes.is_polling.store(false, Ordering::SeqCst);
            if !wakes.was_woken.swap(false, Ordering::SeqCst) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls once a future that wakes itself so often. Whether it ended, how often it was polled, and how often its task
    /// was woken.
    fn polled(self_wakes: usize) -> (bool, usize, usize) {
        let (count, mut polls) = (Arc::new(Count::default()), 0);
        let waker = count.clone().into();
        let future = poll_fn(|cx| {
            polls += 1;
            if polls > self_wakes {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        let ended = Pin::new(&mut Repoll::new(future)).poll(&mut Context::from_waker(&waker)).is_ready();
        (ended, polls, count.0.load(Ordering::SeqCst))
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_gives_way_in_the_end() {
        assert_eq!(polled(0), (true, 1, 0));
        assert_eq!(polled(MAX_POLLS - 1), (true, MAX_POLLS, 0));
        assert_eq!(polled(100), (false, MAX_POLLS, 1));
    }

    /// A wake that is lost leaves this waiting for ever.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_of_another_thread_is_lost() {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        thread::spawn(move || (0..50_000).try_for_each(|number| sender.send(number)));
        let mut sum = 0_u64;
        let all = poll_fn(|cx| {
            while let Poll::Ready(received) = receiver.poll_recv(cx) {
                let Some(number) = received else { return Poll::Ready(()) };
                sum += number;
            }
            Poll::Pending
        });
        Repoll::new(all).await;
        assert_eq!(sum, (0..50_000).sum::<u64>());
    }
}
