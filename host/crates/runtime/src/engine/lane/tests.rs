//! Turns go round, and nobody holds one who does not compute.

use super::*;
use futures::FutureExt as _;
use policy::Side;
use std::future::{pending, poll_fn};
use std::sync::mpsc;

fn who(principal: &'static str, plugin: &str) -> Who {
    (principal.into(), PluginId { side: Side::Server, name: plugin.into() })
}

/// Computes for some turns and notes each under its name.
fn computes(name: &'static str, mut turns: u32, notes: &Arc<Mutex<Vec<&'static str>>>) -> BoxFuture<'static, ()> {
    let notes = notes.clone();
    poll_fn(move |cx| {
        notes.lock().unwrap().push(name);
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

/// Keeps a lane's only thread until the answer is used.
fn blocks(lane: &Arc<Lane>) -> (mpsc::Sender<()>, Running<()>) {
    let ((go, gone), (here, there)) = (mpsc::channel(), mpsc::channel());
    let blocking = async move {
        here.send(()).unwrap();
        gone.recv().unwrap();
    };
    let running = lane.clone().run(who("nobody", "blocker"), blocking.boxed());
    there.recv().unwrap();
    (go, running)
}

#[tokio::test]
async fn a_crowd_delays_itself() {
    let (lane, notes) = (Lane::with_threads(1), Arc::default());
    let (go, blocking) = blocks(&lane);
    let crowd: Vec<_> = (0..8).map(|_| lane.clone().run(who("ann", "crowd"), computes("c", 2, &notes))).collect();
    let neighbour = lane.clone().run(who("ann", "neighbour"), computes("n", 4, &notes));
    let other = lane.clone().run(who("bob", "crowd"), computes("b", 4, &notes));
    go.send(()).unwrap();
    blocking.await;
    neighbour.await;
    other.await;
    futures::future::join_all(crowd).await;
    let notes = notes.lock().unwrap().concat();
    // Two principals by turns, and of ann's two plugins likewise; then the rest of the crowd.
    assert_eq!(notes, format!("cbnbcbnb{}", "cncn".to_owned() + &"c".repeat(12)));
    lane.close();
}

#[tokio::test]
async fn nobody_who_waits_or_is_given_up_holds_a_turn() {
    let lane = Lane::with_threads(1);
    let dropped = Arc::new(());
    let held = dropped.clone();
    let waits = async move {
        let _held = held;
        pending::<()>().await;
    };
    // Nobody polls it any more, as if it were parked; and others compute.
    let waits = lane.clone().run(who("ann", "waits"), waits.boxed());
    lane.clone().run(who("ann", "other"), async { assert!(is_slow()) }.boxed()).await;
    assert_eq!(Arc::strong_count(&dropped), 2);
    drop(waits);
    assert_eq!(Arc::strong_count(&dropped), 1, "it is dropped at once");

    // One that is polled is dropped at the end of the poll, one in line at once, and neither is polled again.
    let (go, blocking) = blocks(&lane);
    drop(blocking);
    let held = dropped.clone();
    drop(lane.clone().run(who("ann", "in line"), async move { drop(held) }.boxed()));
    assert_eq!(Arc::strong_count(&dropped), 1);
    go.send(()).unwrap();
    lane.clone().run(who("ann", "other"), async {}.boxed()).await;
    assert!(!is_slow());
    lane.close();
}

#[tokio::test]
async fn one_that_waits_goes_on_when_it_is_woken() {
    let lane = Lane::with_threads(2);
    let (tell, told) = tokio::sync::oneshot::channel();
    let waits = lane.clone().run(who("ann", "waits"), told.boxed());
    lane.clone().run(who("bob", "tells"), async move { tell.send(7).unwrap() }.boxed()).await;
    assert_eq!(waits.await, Ok(7));
    // Time is the runtime's, wherever it is waited for.
    let sleeps = async { tokio::time::sleep(Duration::from_millis(1)).await };
    lane.clone().run(who("ann", "sleeps"), sleeps.boxed()).await;
    lane.close();
}

#[tokio::test]
async fn whoever_polls_it_hears_whether_it_computes_and_is_woken_when_it_rests() {
    let lane = Lane::with_threads(1);
    let (go, blocking) = blocks(&lane);
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let mut waits = lane.clone().run(who("ann", "waits"), told.boxed());
    let first = poll_fn(|cx| Poll::Ready(progress(&mut waits, cx))).await;
    assert!(matches!(first, Progress::Computes), "its turn is still to come");
    go.send(()).unwrap();
    blocking.await;
    poll_fn(|cx| match progress(&mut waits, cx) {
        Progress::Computes => Poll::Pending,
        Progress::Rests => Poll::Ready(()),
        Progress::Done(_) => panic!("nobody has told it anything"),
    })
    .await;
    tell.send(()).unwrap();
    assert_eq!(waits.await, Ok(()));
    lane.close();
}

#[tokio::test]
async fn a_panic_is_its_callers() {
    let lane = Lane::with_threads(1);
    let panics = lane.clone().run::<()>(who("ann", "panics"), async { panic!("on purpose") }.boxed());
    let caught = AssertUnwindSafe(panics).catch_unwind().await.expect_err("it panicked");
    assert_eq!(caught.downcast_ref::<&str>(), Some(&"on purpose"));
    lane.clone().run(who("ann", "other"), async {}.boxed()).await;
    lane.close();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn its_threads_stand_back() {
    let lane = Lane::with_threads(1);
    let here = nice().await;
    let there = lane.clone().run(who("ann", "other"), nice().boxed()).await;
    assert_eq!(there, here.max(NICE));
    lane.close();
}

#[cfg(target_os = "linux")]
async fn nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap()
}

#[tokio::test]
async fn closed_it_waits_for_turns_that_are_taken_and_gives_no_more() {
    let lane = Lane::with_threads(1);
    let (go, blocking) = blocks(&lane);
    let after = lane.clone().run(who("ann", "after"), async {}.boxed());
    let closing = std::thread::spawn({
        let lane = lane.clone();
        move || lane.close()
    });
    while !lane.state().closed {
        std::thread::yield_now();
    }
    assert!(!closing.is_finished());
    go.send(()).unwrap();
    closing.join().unwrap();
    blocking.await;
    assert_eq!(after.now_or_never(), None);
}
