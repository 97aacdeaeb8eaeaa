//! A log while its store has no room.

use super::super::tests::{StoredCall, pay};
use super::super::{JournalProblem, Repeat};
use super::*;
use platform::clock::SystemClock;
use platform::durable::MemoryStore;
use std::cell::Cell;

fn on_disk() -> (MemoryStore, StoredCall) {
    let disk = MemoryStore::new(Arc::new(SystemClock));
    (disk.clone(), StoredCall { store: Arc::new(disk), ..StoredCall::new() })
}

fn records(text: &str) -> Vec<Vec<u8>> {
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

#[tokio::test]
async fn a_call_waits_while_the_disk_is_full_and_loses_nothing() {
    let (disk, call) = on_disk();
    let (journal, paid) = (call.run(1).await, Cell::new(0));
    pay(&journal, 1, Repeat::Unsafe, &paid).await;
    disk.set_full(true);
    assert_eq!(journal.begin("clock", &()).see(|| 7u8), 7, "nobody waits for this one");
    let waits = async { pay(&journal, 2, Repeat::Unsafe, &paid).await };
    let (_, outcome) = futures::join!(
        async {
            tokio::time::sleep(FIRST_PAUSE * 2).await;
            assert_eq!((paid.get(), journal.problem()), (1, None), "it is not done before it can be stored");
            disk.set_full(false);
        },
        waits
    );
    assert_eq!((outcome, paid.get(), journal.problem()), (4, 2, None));
    pay(&journal, 3, Repeat::Unsafe, &paid).await;
    let later = call.run(2).await;
    for amount in [1, 2, 3] {
        if amount == 2 {
            assert_eq!(later.begin("clock", &()).see(|| 8u8), 7);
        }
        assert_eq!(pay(&later, amount, Repeat::Unsafe, &paid).await, amount * 2);
    }
    assert_eq!((paid.get(), later.problem()), (3, None));
}

#[tokio::test]
async fn a_checkpoint_waits_too() {
    let (disk, call) = on_disk();
    let (journal, paid) = (call.run(1).await, Cell::new(0));
    journal.restored::<u8>().await;
    pay(&journal, 1, Repeat::Unsafe, &paid).await;
    disk.set_full(true);
    journal.begin("clock", &()).see(|| 7u8);
    let checkpoint = super::super::Checkpoint { state: b"s".to_vec(), used: 1u8 };
    let (_, ()) = futures::join!(
        async {
            tokio::time::sleep(FIRST_PAUSE * 2).await;
            disk.set_full(false);
        },
        journal.save(checkpoint.clone())
    );
    assert_eq!(journal.problem(), None);
    pay(&journal, 2, Repeat::Unsafe, &paid).await;
    let later = call.run(2).await;
    assert_eq!(later.restored().await, Some(checkpoint));
    pay(&later, 2, Repeat::Unsafe, &paid).await;
    assert_eq!((paid.get(), later.problem()), (2, None));
}

/// A guest may read the clock as often as it likes, and does not wait for the store.
#[tokio::test]
async fn what_is_unstored_is_bounded_while_the_store_fails() {
    let (disk, call) = on_disk();
    let mut writer = LogWriter::with_longest_wait(call.log(1, 0), FIRST_PAUSE);
    let large = || vec![vec![7; 1_000]];
    // A store that works has its own bound.
    for _ in 0..MAX_UNSTORED / 1_000 * 2 {
        drop(writer.append(large()));
    }
    disk.set_full(true);
    let refused = (0..1_000).filter(|_| matches!(writer.append(large()).now_or_never(), Some(Err(_)))).count();
    let held: usize = writer.unstored.writes.lock().iter().flat_map(|write| &write.records).map(Vec::len).sum();
    assert!(held <= MAX_UNSTORED + 1_000 && refused > 700, "{held} bytes, {refused} refused");
    // Nothing is stored after something that is missing.
    disk.set_full(false);
    let error = writer.append(large()).await.unwrap_err();
    assert!(JournalProblem::store(error).to_string().contains("262144 bytes of steps"));
    let later = writer.flush().await;
    assert_eq!(later, Ok(()), "what was taken is stored");
}

#[tokio::test]
async fn it_gives_up_after_a_time_and_says_why() {
    let (disk, call) = on_disk();
    let mut writer = LogWriter::with_longest_wait(call.log(1, 0), FIRST_PAUSE);
    disk.set_full(true);
    drop(writer.append(records("a")));
    let error = writer.append(records("b c")).await.unwrap_err();
    let said = JournalProblem::store(error).to_string();
    assert!(said.contains("full") && said.ends_with("(tried for 50ms)"), "{said}");
    disk.set_full(false);
    assert_eq!(writer.append(records("d")).await, Ok(()));
    assert_eq!(call.records().await, records("a b c d"), "in their order");
    assert!(writer.unstored.writes.lock().is_empty());
}

#[tokio::test]
async fn who_was_replaced_does_not_wait() {
    let (disk, call) = on_disk();
    let mut writer = LogWriter::new(call.log(1, 0));
    writer.append(records("a")).await.unwrap();
    disk.set_full(true);
    drop(writer.append(records("b")));
    disk.set_full(false);
    let mut later = LogWriter::new(call.log(2, 1));
    later.append(records("x y")).await.unwrap();
    assert_eq!(writer.append(records("c")).await, Err(DurableError::Fenced));
    assert_eq!(writer.flush().await, Err(DurableError::Fenced));
    assert_eq!(call.records().await, records("a x y"));
}

#[tokio::test]
async fn what_is_given_up_is_not_written_any_more() {
    let (disk, call) = on_disk();
    let mut writer = LogWriter::new(call.log(1, 0));
    writer.append(records("a")).await.unwrap();
    disk.set_full(true);
    let waits = writer.append(records("b"));
    disk.set_full(false);
    writer.give_up("it is too long");
    assert_eq!(waits.await, Ok(()), "nobody needs it any more");
    assert_eq!(call.records().await.len(), 1);
}
