//! Records: conditions, revisions, pages.

use super::super::contract::DurableStore;
use super::super::error::DurableError;
use super::super::types::{Durability, Expected, Record, Revision};
use super::bed::{TestBed, key};
use futures::future::join_all;
use std::sync::Arc;

pub(super) async fn check(bed: &dyn TestBed) {
    let store = bed.open().await;
    what_is_put_is_found(store.as_ref()).await;
    a_condition_that_does_not_hold_changes_nothing(store.as_ref()).await;
    a_revision_is_not_used_again(store.as_ref()).await;
    pages_are_in_order(store.as_ref()).await;
    of_many_at_once_each_change_counts(bed).await;
}

async fn what_is_put_is_found(store: &dyn DurableStore) {
    let name = key("found/a");
    assert_eq!(store.get(&name).await, Ok(None));
    for (value, durability) in [(vec![0, 255, 10], Durability::Process), (Vec::new(), Durability::Power)] {
        let revision = store.put(&name, value.clone(), Expected::Any, durability).await.unwrap();
        assert_eq!(store.get(&name).await, Ok(Some(Record { value, revision })));
    }
    assert_eq!(store.get(&key("found")).await, Ok(None));
    assert_eq!(store.get(&key("found/A")).await, Ok(None), "keys differ in case");
}

async fn a_condition_that_does_not_hold_changes_nothing(store: &dyn DurableStore) {
    let name = key("conditions/a");
    let put = |value: u8, expected| store.put(&name, vec![value], expected, Durability::Process);
    let remove = |expected| store.remove(&name, expected, Durability::Process);
    assert_eq!(put(1, Expected::At(Revision(1))).await, Err(DurableError::Conflict(None)));
    assert_eq!(remove(Expected::At(Revision(1))).await, Err(DurableError::Conflict(None)));
    assert_eq!(store.get(&name).await, Ok(None));
    let first = put(1, Expected::Nothing).await.unwrap();
    assert_eq!(put(2, Expected::Nothing).await, Err(DurableError::Conflict(Some(first))));
    let second = put(3, Expected::At(first)).await.unwrap();
    for stale in [Expected::At(first), Expected::Nothing] {
        assert_eq!(put(4, stale).await, Err(DurableError::Conflict(Some(second))));
        assert_eq!(remove(stale).await, Err(DurableError::Conflict(Some(second))));
    }
    assert_eq!(store.get(&name).await, Ok(Some(Record { value: vec![3], revision: second })));
    assert_eq!(remove(Expected::At(second)).await, Ok(()));
    assert_eq!(store.get(&name).await, Ok(None));
    for expected in [Expected::Any, Expected::Nothing] {
        assert_eq!(remove(expected).await, Ok(()), "there need not be one");
    }
}

async fn a_revision_is_not_used_again(store: &dyn DurableStore) {
    let name = key("revisions/a");
    let mut last = Revision(0);
    for round in 0..4 {
        for expected in [Expected::Nothing, Expected::Any] {
            let revision = store.put(&name, vec![7], expected, Durability::Process).await.unwrap();
            assert!(revision > last, "round {round}: {revision:?} after {last:?}");
            last = revision;
        }
        store.remove(&name, Expected::At(last), Durability::Process).await.unwrap();
        let stale = store.put(&name, vec![8], Expected::At(last), Durability::Process).await;
        assert_eq!(stale, Err(DurableError::Conflict(None)));
    }
}

async fn pages_are_in_order(store: &dyn DurableStore) {
    let inside = ["-", ".", "0", "9", "A", "B/x", "B/y/z", "_", "a", "b"];
    let names: Vec<_> = inside.iter().map(|name| key(format!("pages/p/{name}"))).collect();
    let outside = ["pages/p", "pages/p-", "pages/p.x", "pages/p0", "pages/pp/a", "pages/o/a", "pages/q/a"];
    for name in names.iter().rev().cloned().chain(outside.map(key)) {
        store.put(&name, name.as_str().into(), Expected::Nothing, Durability::Process).await.unwrap();
    }
    let prefix = key("pages/p");
    for most in [1, 3, 100] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store.list(&prefix, after.as_ref(), most).await.unwrap();
            assert!(page.len() <= most as usize);
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (name, record) in page {
                assert_eq!(record.value, name.as_str().as_bytes());
                assert_eq!(store.get(&name).await, Ok(Some(record)));
                found.push(name);
            }
        }
        assert_eq!(found, names, "in pages of {most}");
    }
    let between = store.list(&prefix, Some(&key("pages/p/B/xx")), 1).await.unwrap();
    assert_eq!(between[0].0.as_str(), "pages/p/B/y/z", "`after` need not be there");
    let below = store.list(&key("pages/p/B"), None, 9).await.unwrap();
    assert_eq!(below.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["pages/p/B/x", "pages/p/B/y/z"]);
    for after in ["pages/p/b", "pages/q"] {
        assert_eq!(store.list(&prefix, Some(&key(after)), 9).await, Ok(Vec::new()), "after {after}");
    }
    assert_eq!(store.list(&prefix, Some(&key("pages/a")), 9).await.unwrap().len(), 9, "before all");
    assert_eq!(store.list(&key("pages/p/none"), None, 9).await, Ok(Vec::new()));
    assert_eq!(store.list(&prefix, None, 0).await, Ok(Vec::new()));
}

async fn of_many_at_once_each_change_counts(bed: &dyn TestBed) {
    const EACH: u64 = 25;
    let stores: Vec<Arc<dyn DurableStore>> = join_all((0..4).map(|_| bed.open())).await;
    let name = key("race/counter");
    let count = |record: &Option<Record>| {
        record.as_ref().map_or(0, |record| u64::from_le_bytes(record.value.as_slice().try_into().unwrap()))
    };
    let writers = (0..8).map(|writer| {
        let (store, name) = (stores[writer % stores.len()].clone(), name.clone());
        async move {
            let mut done = 0;
            while done < EACH {
                let seen = store.get(&name).await.unwrap();
                let expected = seen.as_ref().map_or(Expected::Nothing, |record| Expected::At(record.revision));
                let value = (count(&seen) + 1).to_le_bytes().to_vec();
                match store.put(&name, value, expected, Durability::Process).await {
                    Ok(_) => done += 1,
                    Err(DurableError::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    join_all(writers).await;
    assert_eq!(count(&stores[0].get(&name).await.unwrap()), 8 * EACH, "no change was lost");
}
