//! The order of requests: they take effect in the order in which they are made, not in which their answers are awaited.

use super::super::contract::DurableStore;
use super::super::types::{Durability, Expected};
use super::bed::{ONE, TestBed, bodies, key};

pub(super) async fn check(bed: &dyn TestBed) {
    let store = bed.open().await;
    nobody_needs_to_wait(store.as_ref()).await;
    a_read_sees_what_was_asked_before(store.as_ref()).await;
    an_answer_may_be_awaited_at_any_time(store.as_ref()).await;
}

async fn nobody_needs_to_wait(store: &dyn DurableStore) {
    const ENTRIES: u64 = 600;
    let log = key("unawaited/log");
    let durability = |number: u64| if number.is_multiple_of(7) { Durability::Power } else { Durability::Process };
    for next in 0..ENTRIES {
        drop(store.append(&log, ONE, next, vec![next.to_le_bytes().to_vec()], durability(next)));
        let name = key(format!("unawaited/{next:03}"));
        drop(store.put(&name, vec![1], Expected::Nothing, durability(next + 3)));
        if next % 3 == 0 {
            drop(store.remove(&name, Expected::Any, Durability::Process));
        }
    }
    store.append(&log, ONE, ENTRIES, bodies(&["last"]), Durability::Process).await.unwrap();
    let found = store.read(&log, 0, u64::MAX).await.unwrap();
    assert_eq!(found.next, ENTRIES + 1);
    let numbers = (0..ENTRIES).map(|next| next.to_le_bytes().to_vec());
    assert!(found.entries.into_iter().take(ENTRIES as usize).eq(numbers));
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(&key("unawaited"), after.as_ref(), 100).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        names.extend(page.into_iter().map(|(name, _)| name));
    }
    let kept = (0..ENTRIES).filter(|next| next % 3 != 0).map(|next| key(format!("unawaited/{next:03}")));
    assert!(names.into_iter().eq(kept));
}

async fn a_read_sees_what_was_asked_before(store: &dyn DurableStore) {
    let (name, log) = (key("seen/record"), key("seen/log"));
    for round in 0..50u8 {
        let written = store.put(&name, vec![round], Expected::Any, Durability::Power);
        let appended = store.append(&log, ONE, u64::from(round), vec![vec![round]], Durability::Power);
        let (record, entries) = (store.get(&name), store.read(&log, u64::from(round), u64::MAX));
        let listed = store.list(&key("seen"), None, 9);
        assert_eq!(record.await.unwrap().unwrap().value, [round]);
        assert_eq!(entries.await.unwrap().entries, [[round]]);
        assert_eq!(listed.await.unwrap()[0].1.value, [round]);
        assert!(written.await.is_ok() && appended.await.is_ok());
    }
}

async fn an_answer_may_be_awaited_at_any_time(store: &dyn DurableStore) {
    let name = key("turns/record");
    let mut answers: Vec<_> =
        (0..20u8).map(|value| store.put(&name, vec![value], Expected::Any, Durability::Process)).collect();
    let seen = store.get(&name).await.unwrap().unwrap();
    assert_eq!(seen.value, [19]);
    let mut revisions = Vec::new();
    while let Some(answer) = answers.pop() {
        revisions.push(answer.await.unwrap());
    }
    assert_eq!(revisions[0], seen.revision);
    assert!(
        revisions.is_sorted_by(|later, earlier| later > earlier),
        "the last asked was the last done: {revisions:?}"
    );
}
