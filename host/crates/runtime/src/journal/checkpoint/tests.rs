//! What checkpoints promise: exactly what comes before them is forgotten, and everything else stays as it was.

use super::super::tests::{StoredCall, pay};
use super::super::{BeforeCheckpoint, CallJournal, Entry, JournalLimits, JournalLog, Repeat, RoomChange};
use super::*;
use futures::FutureExt as _;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

fn checkpoint(state: &[u8]) -> Checkpoint<u8> {
    Checkpoint { state: state.to_vec(), used: 7 }
}

async fn paths(call: &StoredCall) -> Vec<String> {
    call.records().await.iter().map(|record| Entry::decode(record).unwrap().path.to_string()).collect()
}

#[tokio::test]
async fn a_later_run_goes_on_behind_the_last_checkpoint() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    let journal = call.run(1).await;
    assert_eq!(journal.begin("seed", &()).see(|| 1u8), 1);
    assert_eq!(journal.restored::<u8>().await, None);
    for round in 0..3u8 {
        pay(&journal, 7, Repeat::Unsafe, &paid).await;
        journal.save(checkpoint(&[round])).await;
        assert_eq!(paths(&call).await, ["", "1", "2"], "what comes before, and the checkpoint");
    }
    pay(&journal, 9, Repeat::Unsafe, &paid).await;
    assert_eq!(paths(&call).await, ["", "1", "2", "9", "9"], "numbers go on");
    for process in 2..4 {
        let journal = call.run(process).await;
        assert_eq!(journal.begin("seed", &()).see(|| 2u8), 1);
        assert_eq!(journal.restored().await, Some(checkpoint(&[2])));
        assert!(journal.is_replaying());
        assert_eq!(pay(&journal, 9, Repeat::Unsafe, &paid).await, 18);
        assert_eq!((paid.get(), journal.problem()), (4, None));
        if process == 3 {
            journal.save(checkpoint(b"end")).await;
            assert_eq!(paths(&call).await, ["", "1", "2"]);
        }
    }
}

/// A call may save before it becomes a task, which has a log.
#[tokio::test]
async fn what_a_checkpoint_stands_for_is_kept_before_it_is_written() {
    for saves_first in [true, false] {
        let (call, kept) = (StoredCall::new(), Arc::new(AtomicU64::new(0)));
        let counted = kept.clone();
        let before_checkpoint: BeforeCheckpoint = Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let log = JournalLog { before_checkpoint: Some(before_checkpoint), ..call.log(1, 0) };
        let journal = CallJournal::in_memory(call.clock.clone());
        journal.begin("seed", &()).see(|| 1u8);
        if saves_first {
            journal.restored::<u8>().await;
            journal.save(checkpoint(b"a")).await;
        }
        assert!(journal.store_in(log).await.unwrap());
        assert_eq!(kept.load(Ordering::Relaxed), u64::from(saves_first));
        if !saves_first {
            journal.restored::<u8>().await;
        }
        journal.save(checkpoint(b"b")).await;
        assert_eq!(kept.load(Ordering::Relaxed), u64::from(saves_first) + 1);
    }
}

/// A guest with something that it makes once in each instance, such as hash maps with a random seed.
#[tokio::test]
async fn what_a_fresh_instance_asks_again_is_no_step() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    let mut seeds = Vec::new();
    for process in 1..6u64 {
        let journal = call.run(process).await;
        let saved = journal.restored::<u8>().await.map_or(0, |saved| saved.state[0]);
        let mut seed = None;
        let random = |import: &'static str| journal.begin(import, &()).see(|| (process, import.len()));
        for round in saved..3 {
            let of_map = *seed.get_or_insert_with(|| (random("random.seed"), random("clocks.monotonic")));
            seeds.push((process, of_map));
            // It looks for a message, and finds none, which is not recorded.
            journal.begin("steering.next", &()).or_nothing(&false).ask(async { false }).await;
            pay(&journal, 10 + u32::from(round), Repeat::Unsafe, &paid).await;
            assert_eq!(journal.problem(), None, "process {process}, round {round}");
            if process == 1 && round == 0 {
                journal.save(checkpoint(&[1])).await;
            }
            // The first two processes end here.
            if process < 3 && u64::from(round) == process {
                break;
            }
        }
        if process == 4 {
            journal.save(checkpoint(&[2])).await;
        }
    }
    let of =
        |number: u64| seeds.iter().filter(|(process, _)| *process == number).map(|(_, seed)| *seed).collect::<Vec<_>>();
    assert_eq!(of(2)[0].0.0, 2, "the first that goes on from the checkpoint has a new one");
    assert!(of(3).iter().chain(&of(4)).all(|seed| *seed == of(2)[0]), "and all later ones have that");
    assert_eq!(of(5)[0].0.0, 5, "of the next checkpoint, another");
    assert_eq!(paid.get(), 4, "10, 11, 12; and 12 again, behind a checkpoint that came later");
}

#[tokio::test]
async fn what_an_instance_asks_behind_its_own_checkpoint_is_a_step() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    for process in 1..5u64 {
        let journal = call.run(process).await;
        let saved = journal.restored::<u8>().await.map_or(0, |saved| saved.state[0]);
        let random = |import: &'static str| journal.begin(import, &()).see(|| process);
        if process > 1 {
            random("random.seed");
        }
        if saved < 2 {
            journal.save(checkpoint(&[saved + 1])).await;
        }
        if process > 1 {
            let number = random("random.u64");
            assert_eq!(number, 2, "as the instance has seen it that has saved");
            // A step whose arguments depend on it.
            pay(&journal, number as u32, Repeat::Unsafe, &paid).await;
        }
        assert_eq!((journal.problem(), paid.get()), (None, u32::from(process > 1)));
    }
}

#[tokio::test]
async fn what_ends_after_a_checkpoint_is_forgotten_with_what_began_before() {
    let call = StoredCall::new();
    let journal = call.run(1).await;
    journal.restored::<u8>().await;
    let mut step = journal.begin("http.handle", &());
    step.before_effect(Repeat::Unsafe).await;
    journal.save(checkpoint(b"s")).await;
    step.ended(&1u8).await;
    assert_eq!(paths(&call).await, ["", "1"]);
}

#[tokio::test]
async fn a_process_that_was_replaced_saves_nothing() {
    let call = StoredCall::new();
    let old = call.run(1).await;
    old.restored::<u8>().await;
    call.store
        .append(&call.key, platform::durable::Fence(2), 2, vec![], platform::durable::Durability::Process)
        .await
        .unwrap();
    assert!(old.save(checkpoint(b"s")).now_or_never().is_none(), "its guest learns nothing more");
    assert_eq!(old.problem().map(|problem| problem.code()), Some("journal-failed"));
    assert_eq!(call.run(2).await.restored::<u8>().await, None);
}

#[tokio::test]
async fn nested_calls_have_checkpoints_of_their_own() {
    let (call, paid) = (StoredCall::new(), Cell::new(0));
    for process in 1..4u8 {
        let journal = call.run(process.into()).await;
        assert_eq!(journal.restored::<u8>().await, None, "the caller has saved nothing");
        let mut step = journal.begin("call", &"other.put");
        assert!(step.recorded::<u32>().await.is_none());
        step.before_effect(Repeat::Safe).await;
        let nested = journal.of_nested(&step);
        let restored = nested.restored::<u8>().await;
        assert_eq!(restored, (process > 1).then(|| checkpoint(&[process - 1])));
        pay(&nested, 7, Repeat::Unsafe, &paid).await;
        nested.save(checkpoint(&[process])).await;
        assert_eq!(
            (paid.get(), paths(&call).await),
            (process.into(), vec!["".into(), "1".into(), "2".into(), "2.1".into()])
        );
        if process == 3 {
            journal.save(checkpoint(b"caller")).await;
            assert_eq!(paths(&call).await, ["", "1"], "a nested call is forgotten with the step that made it");
        }
    }
}

#[tokio::test]
async fn what_others_record_meanwhile_is_kept() {
    let call = StoredCall::new();
    let journal = call.run(1).await;
    let steps = [journal.begin("call", &1u8), journal.begin("call", &2u8)];
    let [one, other] = steps.each_ref().map(|step| journal.of_nested(step));
    one.restored::<u8>().await;
    other.restored::<u8>().await;
    for round in 0..20u8 {
        one.begin("see", &()).see(|| 1u8);
        other.begin("see", &()).see(|| 2u8);
        futures::join!(one.save(checkpoint(&[1, round])), other.save(checkpoint(&[2, round])), async {
            other.begin("late", &()).see(|| 3u8);
        });
    }
    assert_eq!(journal.problem(), None);
    let journal = call.run(2).await;
    let steps = [journal.begin("call", &1u8), journal.begin("call", &2u8)];
    let [one, other] = steps.each_ref().map(|step| journal.of_nested(step));
    assert_eq!(one.restored().await, Some(checkpoint(&[1, 19])));
    assert_eq!(other.restored().await, Some(checkpoint(&[2, 19])));
    assert_eq!(other.begin("late", &()).see(|| 4u8), 3, "it came behind the checkpoint");
}

#[tokio::test]
async fn a_guest_that_saves_may_run_for_ever() {
    let (call, room) = (StoredCall::new(), Arc::new(AtomicI64::new(0)));
    let taken = room.clone();
    let count = move |change| {
        let more = match change {
            RoomChange::Take(bytes) => bytes.cast_signed(),
            RoomChange::GiveBack(bytes) => -bytes.cast_signed(),
        };
        taken.fetch_add(more, Ordering::Relaxed);
        true
    };
    let log = JournalLog { room: Arc::new(count), ..call.log(1, 0) };
    let journal = CallJournal::in_memory(call.clock.clone());
    journal.restored::<u8>().await;
    let large = "x".repeat(1 << 10);
    let run = async |journal: &CallJournal, limit: u64| {
        for _ in 0..4 {
            for _ in 0..limit / (1 << 11) {
                journal.begin("see", &()).see(|| large.clone());
            }
            journal.save(checkpoint(b"s")).await;
            assert_eq!((journal.unreplayable(), journal.recorded_bytes() < 100), (None, true));
        }
    };
    run(&journal, JournalLimits::IN_MEMORY.bytes).await;
    assert_eq!(journal.export().map(|records| records.len()), Some(1));
    assert!(journal.store_in(log).await.unwrap());
    run(&journal, JournalLimits::STORED.bytes).await;
    assert_eq!(room.load(Ordering::Relaxed).cast_unsigned(), journal.recorded_bytes(), "the room is given back");
    let resumed = CallJournal::resumed(call.clock.clone(), vec![], Duration::ZERO).unwrap();
    resumed.restored::<u8>().await;
    resumed.save(checkpoint(&vec![0; JournalLimits::IN_MEMORY.bytes as usize])).await;
    assert!(resumed.unreplayable().is_some(), "a checkpoint counts, too");
}
