//! Logs: numbers, tokens, trimming, replacing.

use super::super::contract::DurableStore;
use super::super::error::DurableError;
use super::super::types::{Durability, Entries, Fence};
use super::bed::{ONE, TWO, TestBed, bodies, key};
use futures::future::join_all;
use std::sync::Arc;

const ALL: u64 = u64::MAX;

pub(super) async fn check(bed: &dyn TestBed) {
    let store = bed.open().await;
    entries_are_numbered(store.as_ref()).await;
    a_part_is_bounded_by_bytes(store.as_ref()).await;
    a_lower_token_is_refused(store.as_ref()).await;
    trimming_keeps_numbers(store.as_ref()).await;
    replacing_goes_on_counting(store.as_ref()).await;
    a_removed_log_begins_again(store.as_ref()).await;
    what_stands_behind_a_failed_append_fails(store.as_ref()).await;
    of_two_writers_one_moves_the_other(bed).await;
}

async fn entries_are_numbered(store: &dyn DurableStore) {
    let log = key("numbers/log");
    let append = |next, texts: &[&str]| store.append(&log, ONE, next, bodies(texts), Durability::Process);
    assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries::default()));
    assert_eq!(append(1, &["x"]).await, Err(DurableError::Moved { next: 0 }));
    assert_eq!(append(0, &["a", "", "c"]).await, Ok(()));
    for wrong in [0, 2, 4, u64::MAX] {
        assert_eq!(append(wrong, &["x", "y"]).await, Err(DurableError::Moved { next: 3 }));
    }
    assert_eq!(append(3, &["d"]).await, Ok(()));
    let all = bodies(&["a", "", "c", "d"]);
    for from in 0..=4 {
        let expected = Entries { first: from, entries: all[from as usize..].to_vec(), next: 4 };
        assert_eq!(store.read(&log, from, ALL).await, Ok(expected));
    }
    assert_eq!(store.read(&log, 9, ALL).await, Ok(Entries { first: 4, entries: Vec::new(), next: 4 }));
    assert_eq!(store.read(&key("numbers"), 0, ALL).await, Ok(Entries::default()), "another log");
}

async fn a_part_is_bounded_by_bytes(store: &dyn DurableStore) {
    let log = key("parts/log");
    let entries: Vec<Vec<u8>> = (0..50u8).map(|number| vec![number; usize::from(number)]).collect();
    store.append(&log, ONE, 0, entries.clone(), Durability::Process).await.unwrap();
    for most in [0, 1, 60, 200] {
        let mut found = Vec::new();
        loop {
            let part = store.read(&log, found.len() as u64, most).await.unwrap();
            assert_eq!((part.first, part.next), (found.len() as u64, 50));
            if part.entries.is_empty() {
                break;
            }
            let bytes: usize = part.entries.iter().map(Vec::len).sum();
            assert!(part.entries.len() == 1 || bytes as u64 <= most, "{bytes} bytes of at most {most}");
            found.extend(part.entries);
        }
        assert_eq!(found, entries);
    }
}

async fn a_lower_token_is_refused(store: &dyn DurableStore) {
    let log = key("tokens/log");
    let append = |fence, next, texts: &[&str]| store.append(&log, fence, next, bodies(texts), Durability::Process);
    assert_eq!(append(ONE, 0, &["old"]).await, Ok(()));
    assert_eq!(append(TWO, 1, &[]).await, Ok(()), "the new owner shows its token");
    assert_eq!(append(ONE, 1, &["late"]).await, Err(DurableError::Fenced));
    assert_eq!(append(ONE, 1, &[]).await, Err(DurableError::Fenced));
    assert_eq!(append(ONE, 7, &["late"]).await, Err(DurableError::Fenced), "first of all it is fenced");
    assert_eq!(store.trim(&log, ONE, 1).await, Err(DurableError::Fenced));
    assert_eq!(append(TWO, 2, &[]).await, Err(DurableError::Moved { next: 1 }));
    assert_eq!(append(TWO, 1, &["new"]).await, Ok(()));
    let expected = Entries { first: 0, entries: bodies(&["old", "new"]), next: 2 };
    assert_eq!(store.read(&log, 0, ALL).await, Ok(expected));
    assert_eq!(append(Fence(9), 0, &["x"]).await, Err(DurableError::Moved { next: 2 }));
    assert_eq!(append(TWO, 2, &["still"]).await, Ok(()), "a refused append shows no token");
    assert_eq!(store.trim(&log, Fence(9), 0).await, Ok(()));
    assert_eq!(append(TWO, 3, &["late"]).await, Err(DurableError::Fenced));
    let empty = key("tokens/empty");
    assert_eq!(store.append(&empty, TWO, 0, Vec::new(), Durability::Power).await, Ok(()));
    assert_eq!(store.append(&empty, ONE, 0, bodies(&["late"]), Durability::Process).await, Err(DurableError::Fenced));
}

async fn trimming_keeps_numbers(store: &dyn DurableStore) {
    let log = key("trimming/log");
    assert_eq!(store.trim(&log, ONE, 5).await, Ok(()), "there need not be a log");
    assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries::default()));
    store.append(&log, ONE, 0, bodies(&["a", "b", "c", "d"]), Durability::Process).await.unwrap();
    for before in [2, 2, 0] {
        store.trim(&log, ONE, before).await.unwrap();
        for from in 0..=2 {
            let expected = Entries { first: 2, entries: bodies(&["c", "d"]), next: 4 };
            assert_eq!(store.read(&log, from, ALL).await, Ok(expected));
        }
    }
    store.trim(&log, ONE, 99).await.unwrap();
    assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries { first: 4, entries: Vec::new(), next: 4 }));
    assert_eq!(
        store.append(&log, ONE, 0, bodies(&["x"]), Durability::Process).await,
        Err(DurableError::Moved { next: 4 })
    );
    store.append(&log, ONE, 4, bodies(&["e"]), Durability::Process).await.unwrap();
    assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries { first: 4, entries: bodies(&["e"]), next: 5 }));
}

async fn replacing_goes_on_counting(store: &dyn DurableStore) {
    let log = key("replacing/log");
    let append = |fence, next, texts: &[&str]| store.append(&log, fence, next, bodies(texts), Durability::Process);
    let replace = |fence, next, texts: &[&str]| store.replace(&log, fence, next, bodies(texts), Durability::Process);
    let found = |first, texts: &[&str]| Ok(Entries { first, entries: bodies(texts), next: first + texts.len() as u64 });
    assert_eq!(replace(TWO, 1, &["x"]).await, Err(DurableError::Moved { next: 0 }));
    assert_eq!(replace(TWO, 0, &["a", "b"]).await, Ok(()), "there need not be a log");
    assert_eq!(append(TWO, 2, &["c"]).await, Ok(()));
    for (fence, next, error) in [(ONE, 3, DurableError::Fenced), (TWO, 2, DurableError::Moved { next: 3 })] {
        assert_eq!(replace(fence, next, &["x"]).await, Err(error));
        assert_eq!(store.read(&log, 0, ALL).await, found(0, &["a", "b", "c"]), "it is as it was");
    }
    assert_eq!(replace(TWO, 3, &["d", "e"]).await, Ok(()));
    for from in 0..=3 {
        assert_eq!(store.read(&log, from, ALL).await, found(3, &["d", "e"]));
    }
    assert_eq!(append(TWO, 2, &["late"]).await, Err(DurableError::Moved { next: 5 }));
    // Each request gets its place in the order, whether or not anybody waits for its answer.
    drop(append(TWO, 5, &["f"]));
    drop(replace(TWO, 6, &["g"]));
    assert_eq!(append(TWO, 7, &["h"]).await, Ok(()));
    assert_eq!(store.read(&log, 0, ALL).await, found(6, &["g", "h"]));
    assert_eq!(replace(Fence(9), 8, &[]).await, Ok(()));
    assert_eq!(store.read(&log, 0, ALL).await, found(8, &[]));
    assert_eq!(append(TWO, 8, &["late"]).await, Err(DurableError::Fenced), "replacing shows a token");
}

async fn a_removed_log_begins_again(store: &dyn DurableStore) {
    let (log, other) = (key("removing/log"), key("removing/other"));
    for log in [&log, &other] {
        store.append(log, TWO, 0, bodies(&["a", "b"]), Durability::Process).await.unwrap();
    }
    for _ in 0..2 {
        store.remove_log(&log).await.unwrap();
        assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries::default()));
    }
    assert_eq!(store.append(&log, ONE, 0, bodies(&["c"]), Durability::Process).await, Ok(()), "under any token");
    assert_eq!(store.read(&log, 0, ALL).await, Ok(Entries { first: 0, entries: bodies(&["c"]), next: 1 }));
    assert_eq!(store.read(&other, 0, ALL).await.unwrap().next, 2, "another log stays");
}

async fn what_stands_behind_a_failed_append_fails(store: &dyn DurableStore) {
    let log = key("behind/log");
    store.append(&log, TWO, 0, bodies(&["a"]), Durability::Process).await.unwrap();
    let failing = store.append(&log, ONE, 1, bodies(&["b"]), Durability::Process);
    let behind: Vec<_> =
        (2..20).map(|next| store.append(&log, TWO, next, bodies(&["c"]), Durability::Process)).collect();
    for answer in join_all(behind).await {
        assert_eq!(answer, Err(DurableError::Moved { next: 1 }));
    }
    assert_eq!(failing.await, Err(DurableError::Fenced));
    assert_eq!(store.read(&log, 0, ALL).await.unwrap().next, 1);
}

async fn of_two_writers_one_moves_the_other(bed: &dyn TestBed) {
    const EACH: u64 = 50;
    let stores: Vec<Arc<dyn DurableStore>> = join_all((0..2).map(|_| bed.open())).await;
    let log = key("writers/log");
    let writers = stores.iter().enumerate().map(|(writer, store)| {
        let log = &log;
        async move {
            let (mut next, mut done) = (0, 0);
            while done < EACH {
                let body = format!("{writer} {done}").into_bytes();
                match store.append(log, ONE, next, vec![body], Durability::Process).await {
                    Ok(()) => (next, done) = (next + 1, done + 1),
                    Err(DurableError::Moved { next: end }) => next = end,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    join_all(writers).await;
    let found = stores[0].read(&log, 0, ALL).await.unwrap();
    assert_eq!((found.first, found.next, found.entries.len() as u64), (0, 2 * EACH, 2 * EACH));
    for writer in 0..2 {
        let of_writer = found.entries.iter().filter(|body| body.starts_with(format!("{writer} ").as_bytes()));
        let expected = (0..EACH).map(|done| format!("{writer} {done}").into_bytes());
        assert!(of_writer.cloned().eq(expected), "each entry once, in its order");
    }
}
