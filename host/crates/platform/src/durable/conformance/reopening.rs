//! What is kept when the store is opened again.

use super::super::error::DurableError;
use super::super::types::{Durability, Entries, Expected};
use super::bed::{ONE, TWO, TestBed, bodies, key};
use std::time::Duration;

const TERM: Duration = Duration::from_secs(60);

pub(super) async fn check(bed: &dyn TestBed) {
    let (name, gone, log, trimmed) = (key("kept/record"), key("kept/gone"), key("kept/log"), key("kept/trimmed"));
    let store = bed.open().await;
    let mut revision = store.put(&name, vec![0], Expected::Nothing, Durability::Process).await.unwrap();
    let removed = store.put(&gone, vec![0], Expected::Nothing, Durability::Process).await.unwrap();
    store.remove(&gone, Expected::At(removed), Durability::Process).await.unwrap();
    store.append(&log, TWO, 0, bodies(&["first"]), Durability::Process).await.unwrap();
    store.append(&trimmed, ONE, 0, bodies(&["a", "b"]), Durability::Process).await.unwrap();
    store.trim(&trimmed, ONE, 2).await.unwrap();
    let replaced = key("kept/replaced");
    store.append(&replaced, ONE, 0, bodies(&["a", "b"]), Durability::Process).await.unwrap();
    store.replace(&replaced, ONE, 2, bodies(&["c"]), Durability::Process).await.unwrap();
    let lease = store.acquire(&key("kept/lease"), "a", TERM).await.unwrap().unwrap();
    let given_back = store.acquire(&key("kept/back"), "a", TERM).await.unwrap().unwrap();
    store.release(&given_back).await.unwrap();
    drop(store);
    for round in 1..=5u8 {
        let store = bed.open().await;
        let record = store.get(&name).await.unwrap().unwrap();
        assert_eq!((record.value, record.revision), (vec![round - 1], revision));
        let durability = if round % 2 == 0 { Durability::Power } else { Durability::Process };
        revision = store.put(&name, vec![round], Expected::At(revision), durability).await.unwrap();
        let next = u64::from(round);
        let stale = store.append(&log, ONE, next, bodies(&["late"]), durability).await;
        assert_eq!(stale, Err(DurableError::Fenced), "a log remembers the token");
        store.append(&log, TWO, next, bodies(&["next"]), durability).await.unwrap();
        assert_eq!(store.read(&log, 0, u64::MAX).await.unwrap().entries.len(), usize::from(round) + 1);
    }
    let store = bed.open().await;
    let again = store.put(&gone, vec![1], Expected::Nothing, Durability::Process).await.unwrap();
    assert!(again > removed, "a revision is not used again");
    assert_eq!(store.read(&trimmed, 0, 9).await, Ok(Entries { first: 2, entries: Vec::new(), next: 2 }));
    assert_eq!(store.read(&replaced, 0, 9).await, Ok(Entries { first: 2, entries: bodies(&["c"]), next: 3 }));
    assert_eq!(store.acquire(&lease.name, "b", TERM).await, Ok(None), "a lease outlives its process");
    assert_eq!(store.renew(vec![lease], TERM).await, Ok(Vec::new()));
    let later = store.acquire(&given_back.name, "b", TERM).await.unwrap().unwrap();
    assert!(later.fence > given_back.fence, "nor is a token");
}
