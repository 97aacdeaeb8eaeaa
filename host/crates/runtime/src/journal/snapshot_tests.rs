//! What is kept elsewhere of a waiting call is removed before anything that the call does next.

use super::{CallJournal, EffectGuard, Repeat};
use futures::FutureExt as _;
use platform::clock::SystemClock;
use platform::durable::DurableError;
use platform::sync::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

fn journal() -> CallJournal {
    CallJournal::in_memory(Arc::new(SystemClock))
}

/// A removal that ends when the test says so, with the result that the test sends.
fn removal() -> (EffectGuard, oneshot::Sender<Result<(), DurableError>>) {
    let (done, removed) = oneshot::channel();
    let removed = Mutex::new(Some(removed));
    let guard: EffectGuard = Arc::new(move || {
        let removed = removed.lock().take().expect("it is removed once");
        Box::pin(async { removed.await.unwrap() })
    });
    (guard, done)
}

#[tokio::test]
async fn an_effect_waits_until_what_was_kept_is_removed() {
    let (journal, mut kept) = (journal(), Vec::new());
    assert_eq!(journal.begin("clock", &()).see(|| 1), 1);
    let (outdated, done) = removal();
    assert!(journal.keep_elsewhere(|records| kept = records, outdated));
    assert_eq!(kept.len(), 1);
    // The removal begins here, and the guest need not wait for it.
    assert_eq!(journal.begin("clock", &()).see(|| 2), 2);
    let mut paying = Box::pin(journal.begin("pay", &()).act(Repeat::Unsafe, async { 3 }));
    assert!((&mut paying).now_or_never().is_none(), "another run would pay, too");
    done.send(Ok(())).unwrap();
    assert_eq!(paying.await, 3);
    assert_eq!(journal.begin("pay", &()).act(Repeat::Safe, async { 4 }).now_or_never(), Some(4));

    let resumed = CallJournal::resumed(Arc::new(SystemClock), kept, Default::default()).unwrap();
    let (outdated, done) = removal();
    resumed.is_kept_elsewhere(outdated);
    assert_eq!(resumed.begin("clock", &()).see(|| 9), 1, "it is replayed, and nothing is outdated");
    let mut asking = Box::pin(resumed.begin("ask", &()).ask(async { 5 }));
    assert!((&mut asking).now_or_never().is_none());
    done.send(Ok(())).unwrap();
    assert_eq!(asking.await, 5);
}

#[tokio::test]
async fn what_cannot_be_removed_ends_the_call() {
    let (journal, cancel) = (journal(), CancellationToken::new());
    journal.end_with(&cancel);
    let (outdated, done) = removal();
    assert!(journal.keep_elsewhere(drop, outdated));
    done.send(Err(DurableError::Failed("the disk is gone".into()))).unwrap();
    let asked = journal.begin("ask", &()).ask(async { 1 });
    tokio::select! {
        biased;
        _ = asked => panic!("the guest would go on, and another run of it later"),
        () = cancel.cancelled() => {}
    }
    assert!(journal.problem().is_some());
}

#[tokio::test]
async fn a_call_with_an_effect_under_way_is_not_kept() {
    let journal = journal();
    let (outcome, waits) = oneshot::channel::<u32>();
    let mut paying = Box::pin(journal.begin("pay", &()).act(Repeat::Unsafe, async { waits.await.unwrap() }));
    assert!((&mut paying).now_or_never().is_none());
    assert!(!journal.keep_elsewhere(|_| panic!("nobody would know what came of it"), removal().0));
    outcome.send(1).unwrap();
    paying.await;
    journal.cannot_replay("it does something else");
    assert!(!journal.keep_elsewhere(drop, removal().0));
    assert!(!CallJournal::default().keep_elsewhere(drop, removal().0));
}
