//! What a journal promises, tested with a store that the test can look into.

use super::entry::{Entry, Phase};
use super::limits::JournalLimits;
use super::{CallJournal, JournalLog, JournalProblem, JournalRoom, OutcomeInquiry, Repeat, RoomChange};
use futures::FutureExt as _;
use platform::clock::{Clock, SystemClock};
use platform::durable::{Durability, DurableStore, Entries, Fence, Key, MemoryStore};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A call whose records are stored, and the processes that run it.
pub(super) struct StoredCall {
    pub(super) store: Arc<dyn DurableStore>,
    pub(super) key: Key,
    pub(super) clock: Arc<dyn Clock>,
}

impl StoredCall {
    pub(super) fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { store, key: Key::new("journal/c").unwrap(), clock }
    }

    pub(super) async fn records(&self) -> Vec<Vec<u8>> {
        JournalLog::read(&*self.store, &self.key).await.unwrap().entries
    }

    pub(super) fn log(&self, process: u64, next: usize) -> JournalLog {
        let (store, key, next) = (self.store.clone(), self.key.clone(), next as u64);
        let (durability, room): (_, JournalRoom) = (Durability::Process, Arc::new(|_| true));
        JournalLog { store, key, fence: Fence(process), durability, next, room, before_checkpoint: None }
    }

    /// Another process goes on with the call.
    pub(super) async fn run(&self, process: u64) -> CallJournal {
        let Entries { entries: records, next, .. } = JournalLog::read(&*self.store, &self.key).await.unwrap();
        let log = self.log(process, next as usize);
        if records.is_empty() {
            let journal = CallJournal::in_memory(self.clock.clone());
            assert!(journal.store_in(log).await.unwrap());
            return journal;
        }
        CallJournal::stored(self.clock.clone(), log, records, Duration::ZERO).unwrap()
    }
}

/// Pays once, and counts how often it is done.
pub(super) async fn pay(journal: &CallJournal, amount: u32, again: Repeat, paid: &Cell<u32>) -> u32 {
    let paying = async {
        paid.set(paid.get() + 1);
        amount * 2
    };
    journal.begin("shop.pay", &amount).act(again, paying).await
}

#[tokio::test]
async fn what_was_done_is_not_done_again() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    for process in 1..4 {
        let journal = call.run(process).await;
        let time = journal.begin("clock", &()).see(|| process);
        assert_eq!((time, pay(&journal, 7, Repeat::Unsafe, &paid).await, paid.get()), (1, 14, 1), "{process}");
        assert_eq!(journal.is_replaying(), process > 1);
        // Past what was recorded, the call goes on.
        if process == 3 {
            assert_eq!(journal.begin("ask", &()).ask(async { 9u32 }).now_or_never(), Some(9));
            assert!(!journal.is_replaying() && journal.problem().is_none());
        }
    }
}

#[tokio::test]
async fn an_effect_without_an_outcome_is_repeated_only_where_that_is_safe() {
    for (again, repeated) in [(Repeat::Safe, true), (Repeat::Unsafe, false)] {
        let (call, paid) = (StoredCall::new(), Cell::new(0));
        {
            let journal = call.run(1).await;
            let mut step = journal.begin("shop.pay", &7u32);
            assert!(step.recorded::<u32>().await.is_none() && !step.before_effect(again).await);
            // The process ends here: nobody knows whether it has paid.
        }
        let began = if repeated { Phase::Began } else { Phase::BeganOnce };
        assert_eq!(Entry::decode(&call.records().await[1]).unwrap().phase, began);
        let journal = call.run(2).await;
        let cancel = CancellationToken::new();
        journal.end_with(&cancel);
        assert_eq!(journal.begin("shop.pay", &7u32).begun(), Some(again));
        let journal = call.run(2).await;
        journal.end_with(&cancel);
        let outcome = pay(&journal, 7, again, &paid).now_or_never();
        assert_eq!((outcome, paid.get()), if repeated { (Some(14), 1) } else { (None, 0) }, "{again:?}");
        assert_eq!(cancel.is_cancelled(), !repeated);
        let problem = journal.problem();
        assert_eq!(matches!(&problem, Some(JournalProblem::Unknown { .. })), !repeated, "{problem:?}");
    }
}

#[tokio::test]
async fn another_step_than_the_recorded_one_ends_the_call() {
    let call = StoredCall::new();
    call.run(1).await.begin("ask", &1u32).ask(async { 5u32 }).await;
    for (import, arguments) in [("ask", 2u32), ("tell", 1)] {
        let journal = call.run(2).await;
        let cancel = CancellationToken::new();
        journal.end_with(&cancel);
        let step = journal.begin(import, &arguments);
        assert!(step.has_to_end() && cancel.is_cancelled());
        assert_eq!(step.ask(async { 6u32 }).now_or_never(), None, "the guest learns nothing more");
        let problem = journal.problem().unwrap();
        assert_eq!(problem.code(), "diverged");
        assert!(problem.to_string().contains("step 1"), "{problem}");
    }
}

#[tokio::test]
async fn a_process_that_was_replaced_does_nothing_more() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    let old = call.run(1).await;
    call.store.append(&call.key, Fence(2), 1, vec![], Durability::Process).await.unwrap();
    assert_eq!(pay(&old, 7, Repeat::Safe, &paid).now_or_never(), None);
    assert_eq!((paid.get(), old.problem().map(|problem| problem.code())), (0, Some("journal-failed")));
}

#[tokio::test]
async fn a_journal_has_an_end() {
    let call = StoredCall::new();
    let journal = call.run(1).await;
    let large = vec!["x".repeat(1 << 10)];
    let steps = JournalLimits::STORED.bytes / (1 << 10);
    for _ in 0..steps {
        journal.begin("see", &()).see(|| large.clone());
    }
    assert_eq!(journal.problem(), None, "the call goes on");
    // Only the reason is left of the log.
    let records = call.records().await;
    assert_eq!(records.len(), 1);
    let resumed = CallJournal::stored(call.clock.clone(), call.log(2, 1), records, Duration::ZERO);
    let problem = resumed.err().unwrap();
    assert_eq!(problem, JournalProblem::GaveUp("its journal is too long".into()));

    let journal = CallJournal::in_memory(call.clock.clone());
    assert_eq!(journal.export(), Some(vec![]));
    for _ in 0..JournalLimits::IN_MEMORY.bytes / (1 << 10) {
        journal.begin("see", &()).see(|| large.clone());
    }
    // The call goes on, and nothing is kept for it any more.
    assert_eq!((journal.problem(), journal.export(), journal.kept_bytes()), (None, None, 0));
    assert!(journal.unreplayable().is_some());
}

#[tokio::test]
async fn a_call_in_memory_becomes_a_stored_one() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    let journal = CallJournal::in_memory(call.clock.clone());
    assert_eq!(pay(&journal, 7, Repeat::Unsafe, &paid).await, 14);
    assert!(journal.store_in(call.log(1, 0)).await.unwrap());
    assert_eq!((call.records().await.len(), journal.kept_bytes(), journal.export()), (3, 0, None));
    assert_eq!(pay(&journal, 8, Repeat::Unsafe, &paid).await, 16);
    let resumed = call.run(2).await;
    assert_eq!(pay(&resumed, 7, Repeat::Unsafe, &paid).await, 14);
    assert_eq!((pay(&resumed, 8, Repeat::Unsafe, &paid).await, paid.get()), (16, 2));

    let other = StoredCall::new();
    let journal = CallJournal::in_memory(other.clock.clone());
    journal.cannot_replay("it is a test");
    assert!(!journal.store_in(other.log(1, 0)).await.unwrap());
    for (records, why) in [(other.records().await, "it is a test"), (Vec::new(), "its steps were not stored")] {
        let resumed = CallJournal::stored(other.clock.clone(), other.log(2, 1), records, Duration::ZERO);
        assert_eq!(resumed.err(), Some(JournalProblem::GaveUp(why.into())));
    }
}

#[tokio::test]
async fn a_call_goes_on_without_a_journal_when_there_is_no_room_for_it() {
    for (room, records) in [(0, 0), (200, 3)] {
        let (call, left) = (StoredCall::new(), Arc::new(AtomicU64::new(room)));
        let taken = left.clone();
        let take = move |change| match change {
            RoomChange::Take(bytes) => taken.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok(),
            RoomChange::GiveBack(bytes) => taken.fetch_add(bytes, Relaxed) < u64::MAX,
        };
        let log = JournalLog { room: Arc::new(take), ..call.log(1, 0) };
        let journal = CallJournal::in_memory(call.clock.clone());
        journal.begin("see", &()).see(|| 1u8);
        assert_eq!(journal.store_in(log).await.unwrap(), records > 0, "{room}");
        for _ in 0..9 {
            journal.begin("see", &()).see(|| 1u8);
        }
        assert!(journal.problem().is_none() && journal.unreplayable().unwrap().contains("no room"), "{room}");
        let resumed = CallJournal::stored(call.clock.clone(), call.log(2, 1), call.records().await, Duration::ZERO);
        assert!(matches!(resumed.err(), Some(JournalProblem::GaveUp(why)) if why.contains("no room")));
    }
}

#[tokio::test]
async fn steps_of_a_nested_call_are_below_the_step_that_makes_it() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    for process in 1..3 {
        let journal = call.run(process).await;
        let mut step = journal.begin("call", &"other.put");
        assert!(step.recorded::<u32>().await.is_none());
        step.before_effect(Repeat::Safe).await;
        let nested = journal.of_nested(&step);
        assert_eq!((nested.name().as_deref(), nested.kept_bytes()), (Some("1"), 0));
        assert_eq!(nested.is_replaying(), process > 1);
        pay(&nested, 7, Repeat::Unsafe, &paid).await;
        // The process ends here, within the caller's step.
    }
    assert_eq!(paid.get(), 1);
    let paths: Vec<_> = call.records().await.iter().map(|it| Entry::decode(it).unwrap().path.to_string()).collect();
    assert_eq!(paths, ["", "1", "1.1", "1.1"], "the first says that the log is whole");
}

/// Knows whether something has happened.
struct Knows(bool);

impl OutcomeInquiry for Knows {
    fn has_not_happened(&self, _: String, import: &'static str) -> futures::future::BoxFuture<'static, bool> {
        let knows = self.0 && import == "shop.pay";
        Box::pin(async move { knows })
    }
}

#[tokio::test]
async fn an_effect_in_doubt_is_made_again_if_somebody_knows_that_it_has_not_happened() {
    for knows in [true, false] {
        let (call, paid) = (StoredCall::new(), Cell::new(0));
        let mut step = call.run(1).await.begin("shop.pay", &7u32);
        step.before_effect(Repeat::Unsafe).await;
        let journal = call.run(2).await;
        journal.set_inquiry(Arc::new(Knows(knows)));
        let outcome = pay(&journal, 7, Repeat::Unsafe, &paid).now_or_never();
        assert_eq!((outcome, paid.get()), if knows { (Some(14), 1) } else { (None, 0) });
        assert_eq!(journal.problem().is_none(), knows);
    }
}

/// A guest may have its turn while its call is taken away.
#[tokio::test]
async fn an_instance_that_is_left_learns_and_does_nothing_more() {
    let shop = StoredCall::new();
    let (journal, paid) = (shop.run(1).await, Cell::new(0));
    let (answer, answered) = futures::channel::oneshot::channel::<u8>();
    let mut asks = Box::pin(
        journal.begin("client.ask", &()).ask(async { answered.await.map_err(|_| "nobody answers".to_owned()) }),
    );
    assert!((&mut asks).now_or_never().is_none());
    journal.leave();
    drop(answer);
    assert!(asks.now_or_never().is_none(), "it is not told so");
    assert!(pay(&journal, 3, Repeat::Safe, &paid).now_or_never().is_none() && paid.get() == 0);
    let later = shop.run(2).await;
    let asked = later.begin("client.ask", &()).ask(async { Ok::<u8, String>(7) }).await;
    assert_eq!((asked, pay(&later, 3, Repeat::Safe, &paid).await, paid.get()), (Ok(7), 6, 1));
}

/// The call is not suspended meanwhile: nobody would know what has come of the effect.
#[tokio::test]
async fn an_effect_that_must_not_be_made_twice_is_under_way_until_it_is_recorded() {
    let journal = StoredCall::new().run(1).await;
    for (again, is_under_way) in [(Repeat::Safe, false), (Repeat::Unsafe, true)] {
        let (done, finishes) = futures::channel::oneshot::channel::<u8>();
        let step = journal.begin("shop.pay", &1);
        let mut pays = Box::pin(step.act(again, async { finishes.await.unwrap_or_default() }));
        assert!((&mut pays).now_or_never().is_none());
        assert_eq!(journal.has_effect_under_way(), is_under_way);
        done.send(7).unwrap();
        assert_eq!((pays.await, journal.has_effect_under_way()), (7, false));
    }
    let dropped = journal.begin("shop.pay", &2);
    assert!(dropped.act(Repeat::Unsafe, futures::future::pending::<u8>()).now_or_never().is_none());
    assert!(!journal.has_effect_under_way(), "nobody makes it any more");
}

/// The call is not suspended meanwhile: otherwise, what it asks at the same time would be asked one after the other.
#[tokio::test]
async fn a_step_that_waits_for_the_store_is_no_step_that_waits_for_somebody() {
    let disk = MemoryStore::new(Arc::new(SystemClock));
    let call = StoredCall { store: Arc::new(disk.clone()), ..StoredCall::new() };
    let journal = call.run(1).await;
    disk.set_full(true);
    let mut pays = Box::pin(journal.begin("shop.pay", &1).act(Repeat::Safe, async { 7u8 }));
    assert!((&mut pays).now_or_never().is_none() && journal.is_storing());
    disk.set_full(false);
    assert_eq!((pays.await, journal.is_storing()), (7, false));
}
