//! Tasks take turns, and only a computing task occupies a thread.

#[cfg(target_os = "linux")]
use super::pool::NICE;
use super::pool::{ComputePool, TaskOwner, is_compute_thread};
use super::task::{ComputePoll, TURN, TaskHandle, poll_compute};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use platform::clock::{Clock as _, SystemClock};
use platform::sync::Mutex;
use policy::{PluginId, Side};
use std::future::{pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

fn owner(principal: &'static str, plugin: &str) -> TaskOwner {
    (principal.into(), PluginId { side: Side::Server, name: plugin.into() })
}

/// Computes for some turns and appends its name to the log in each.
fn compute(name: &'static str, mut turns: u32, log: &Arc<Mutex<Vec<&'static str>>>) -> BoxFuture<'static, ()> {
    let log = log.clone();
    poll_fn(move |cx| {
        log.lock().push(name);
        let began = SystemClock.cpu();
        while SystemClock.cpu() - began < TURN {
            std::hint::spin_loop();
        }
        turns -= 1;
        cx.waker().wake_by_ref();
        if turns == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .boxed()
}

/// Occupies the pool's only thread until the sender is used.
fn block(pool: &Arc<ComputePool>) -> (mpsc::Sender<()>, TaskHandle<()>) {
    let ((unblock, unblocked), (started, has_started)) = (mpsc::channel(), mpsc::channel());
    let blocking = async move {
        started.send(()).unwrap();
        unblocked.recv().unwrap();
    };
    let handle = pool.clone().run(owner("nobody", "blocker"), blocking.boxed());
    has_started.recv().unwrap();
    (unblock, handle)
}

#[tokio::test]
async fn a_plugin_with_many_tasks_delays_only_itself() {
    let (pool, log) = (ComputePool::with_threads(1), Arc::default());
    let (unblock, blocking) = block(&pool);
    let crowd: Vec<_> = (0..8).map(|_| pool.clone().run(owner("ann", "crowd"), compute("c", 2, &log))).collect();
    let neighbour = pool.clone().run(owner("ann", "neighbour"), compute("n", 4, &log));
    let other = pool.clone().run(owner("bob", "crowd"), compute("b", 4, &log));
    unblock.send(()).unwrap();
    blocking.await;
    neighbour.await;
    other.await;
    futures::future::join_all(crowd).await;
    let log = log.lock().concat();
    // The two principals alternate, and so do ann's two plugins; the rest of the crowd follows.
    assert_eq!(log, format!("cbnbcbnb{}", "cncn".to_owned() + &"c".repeat(12)));
    pool.shut_down();
}

#[tokio::test]
async fn waiting_and_abandoned_tasks_occupy_no_thread() {
    let pool = ComputePool::with_threads(1);
    let resource = Arc::new(());
    let held = resource.clone();
    let waits = async move {
        let _held = held;
        pending::<()>().await;
    };
    // Nobody polls the handle of a parked call; others still run.
    let waits = pool.clone().run(owner("ann", "waits"), waits.boxed());
    pool.clone().run(owner("ann", "other"), async { assert!(is_compute_thread()) }.boxed()).await;
    assert_eq!(Arc::strong_count(&resource), 2);
    drop(waits);
    assert_eq!(Arc::strong_count(&resource), 1, "a waiting task is dropped at once");

    // A running task is dropped at the end of its poll, a queued one at once; neither is polled again.
    let (unblock, blocking) = block(&pool);
    drop(blocking);
    let held = resource.clone();
    drop(pool.clone().run(owner("ann", "queued"), async move { drop(held) }.boxed()));
    assert_eq!(Arc::strong_count(&resource), 1);
    unblock.send(()).unwrap();
    pool.clone().run(owner("ann", "other"), async {}.boxed()).await;
    assert!(!is_compute_thread());
    pool.shut_down();
}

#[tokio::test]
async fn a_waiting_task_continues_when_it_is_woken() {
    let pool = ComputePool::with_threads(2);
    let (send, receive) = tokio::sync::oneshot::channel();
    let waits = pool.clone().run(owner("ann", "waits"), receive.boxed());
    pool.clone().run(owner("bob", "sends"), async move { send.send(7).unwrap() }.boxed()).await;
    assert_eq!(waits.await, Ok(7));
    // Timers of the runtime work in the pool.
    let sleeps = async { tokio::time::sleep(Duration::from_millis(1)).await };
    pool.clone().run(owner("ann", "sleeps"), sleeps.boxed()).await;
    pool.shut_down();
}

#[tokio::test]
async fn a_poller_learns_whether_the_task_computes_and_is_woken_when_it_waits() {
    let pool = ComputePool::with_threads(1);
    let (unblock, blocking) = block(&pool);
    let (send, receive) = tokio::sync::oneshot::channel::<()>();
    let mut waits = pool.clone().run(owner("ann", "waits"), receive.boxed());
    let first = poll_fn(|cx| Poll::Ready(poll_compute(&mut waits, cx))).await;
    assert!(matches!(first, ComputePoll::Computing), "it is queued");
    unblock.send(()).unwrap();
    blocking.await;
    poll_fn(|cx| match poll_compute(&mut waits, cx) {
        ComputePoll::Computing => Poll::Pending,
        ComputePoll::Waiting => Poll::Ready(()),
        ComputePoll::Ready(_) => panic!("nothing was sent yet"),
    })
    .await;
    send.send(()).unwrap();
    assert_eq!(waits.await, Ok(()));
    pool.shut_down();
}

#[tokio::test]
async fn a_panic_reaches_the_awaiting_caller() {
    let pool = ComputePool::with_threads(1);
    let panics = pool.clone().run::<()>(owner("ann", "panics"), async { panic!("on purpose") }.boxed());
    let caught = AssertUnwindSafe(panics).catch_unwind().await.expect_err("it panicked");
    assert_eq!(caught.downcast_ref::<&str>(), Some(&"on purpose"));
    pool.clone().run(owner("ann", "other"), async {}.boxed()).await;
    pool.shut_down();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn pool_threads_have_a_lower_priority() {
    let pool = ComputePool::with_threads(1);
    let main = nice().await;
    let in_pool = pool.clone().run(owner("ann", "other"), nice().boxed()).await;
    assert_eq!(in_pool, main.max(NICE));
    pool.shut_down();
}

#[cfg(target_os = "linux")]
async fn nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap()
}

#[tokio::test]
async fn shutdown_waits_for_running_tasks_and_drops_queued_ones() {
    let pool = ComputePool::with_threads(1);
    let (unblock, blocking) = block(&pool);
    let queued = pool.clone().run(owner("ann", "queued"), async {}.boxed());
    let shutting_down = std::thread::spawn({
        let pool = pool.clone();
        move || pool.shut_down()
    });
    while !pool.is_shut_down() {
        std::thread::yield_now();
    }
    assert!(!shutting_down.is_finished());
    unblock.send(()).unwrap();
    shutting_down.join().unwrap();
    blocking.await;
    assert_eq!(queued.now_or_never(), None);
}
