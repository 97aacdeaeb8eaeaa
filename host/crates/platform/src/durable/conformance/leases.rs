//! Leases: one owner at a time, and tokens that tell later ones from earlier ones.

use super::super::contract::DurableStore;
use super::super::error::DurableError;
use super::super::types::{Durability, Fence, Lease};
use super::bed::{TestBed, bodies, key};
use futures::future::join_all;
use std::sync::Arc;
use std::time::Duration;

const TERM: Duration = Duration::from_secs(3);
const HALF: Duration = Duration::from_millis(1_500);
const MOST: Duration = Duration::from_millis(2_000);

pub(super) async fn check(bed: &dyn TestBed) {
    let (a, b) = (bed.open().await, bed.open().await);
    one_has_it_until_it_ends(bed, a.as_ref(), b.as_ref()).await;
    it_can_be_given_back(a.as_ref(), b.as_ref()).await;
    a_renewed_one_holds_from_then_on(bed, a.as_ref(), b.as_ref()).await;
    many_are_renewed_at_once(bed, a.as_ref(), b.as_ref()).await;
    what_is_left_behind_is_found(bed, a.as_ref(), b.as_ref()).await;
    a_holder_may_take_it_again(a.as_ref()).await;
    one_of_many_gets_it(bed).await;
    a_replaced_owner_cannot_append(bed, a.as_ref(), b.as_ref()).await;
}

/// Returns whether the lease is extended.
async fn renew(store: &dyn DurableStore, lease: &Lease) -> bool {
    store.renew(vec![lease.clone()], TERM).await.unwrap().is_empty()
}

async fn one_has_it_until_it_ends(bed: &dyn TestBed, a: &dyn DurableStore, b: &dyn DurableStore) {
    let name = key("lease/expiry");
    let first = a.acquire(&name, "a", TERM).await.unwrap().unwrap();
    assert_eq!((&first.name, first.holder.as_str()), (&name, "a"));
    assert_eq!(b.acquire(&name, "b", TERM).await, Ok(None));
    assert!(b.acquire(&key("lease/other"), "b", TERM).await.unwrap().is_some(), "another name");
    bed.pass(TERM).await;
    bed.pass(TERM).await;
    assert!(renew(a, &first).await, "its owner was stopped, and nobody else has come");
    assert_eq!(b.acquire(&name, "b", TERM).await, Ok(None), "it holds again");
    bed.pass(TERM).await;
    let second = b.acquire(&name, "b", TERM).await.unwrap().unwrap();
    assert!(second.fence > first.fence);
    assert!(!renew(a, &first).await);
    assert_eq!(a.release(&first).await, Ok(()));
    assert_eq!(a.acquire(&name, "a", TERM).await, Ok(None), "what is not one's own is not given back");
    assert!(renew(b, &second).await);
}

async fn it_can_be_given_back(a: &dyn DurableStore, b: &dyn DurableStore) {
    let name = key("lease/back");
    let mut last = Fence(0);
    for round in 0..4 {
        let (store, holder) = if round % 2 == 0 { (a, "a") } else { (b, "b") };
        let lease = store.acquire(&name, holder, TERM).await.unwrap().unwrap();
        assert!(lease.fence > last, "a token is not used again");
        last = lease.fence;
        let forged = Lease { holder: "c".into(), ..lease.clone() };
        assert!(!renew(store, &forged).await);
        assert_eq!(store.release(&forged).await, Ok(()));
        assert!(renew(store, &lease).await);
        for _ in 0..2 {
            assert_eq!(store.release(&lease).await, Ok(()));
        }
        assert!(!renew(store, &lease).await);
    }
}

async fn a_renewed_one_holds_from_then_on(bed: &dyn TestBed, a: &dyn DurableStore, b: &dyn DurableStore) {
    let name = key("lease/renewed");
    let lease = a.acquire(&name, "a", TERM).await.unwrap().unwrap();
    for _ in 0..3 {
        bed.pass(HALF).await;
        assert!(renew(a, &lease).await);
    }
    bed.pass(MOST).await;
    assert_eq!(b.acquire(&name, "b", TERM).await, Ok(None));
    bed.pass(TERM).await;
    assert!(b.acquire(&name, "b", TERM).await.unwrap().is_some());
}

async fn many_are_renewed_at_once(bed: &dyn TestBed, a: &dyn DurableStore, b: &dyn DurableStore) {
    let mut leases = Vec::new();
    for name in ["lease/a", "lease/b", "lease/c", "lease/d", "lease/e"] {
        leases.push(a.acquire(&key(name), "a", TERM).await.unwrap().unwrap());
    }
    a.release(&leases[1]).await.unwrap();
    let others = b.acquire(&leases[1].name, "b", TERM).await.unwrap().unwrap();
    bed.pass(HALF).await;
    assert_eq!(a.renew(leases.clone(), TERM).await, Ok(vec![leases[1].clone()]), "only what is lost");
    assert_eq!(a.renew(Vec::new(), TERM).await, Ok(Vec::new()));
    bed.pass(MOST).await;
    for (number, lease) in leases.iter().enumerate() {
        let is_free = b.acquire(&lease.name, "c", TERM).await.unwrap().is_some();
        assert_eq!(is_free, number == 1, "{number}");
    }
    assert!(!renew(b, &others).await);
}

async fn what_is_left_behind_is_found(bed: &dyn TestBed, a: &dyn DurableStore, b: &dyn DurableStore) {
    let prefix = key("left");
    let acquire = async |name: &str| a.acquire(&key(name), "a", TERM).await.unwrap().unwrap();
    let (left, given_back) = (acquire("left/1").await, acquire("left/2").await);
    let (_other, _name) = (acquire("left-2/1").await, acquire("left").await);
    assert_eq!(b.expired(&prefix).await, Ok(Vec::new()), "they hold");
    a.release(&given_back).await.unwrap();
    bed.pass(TERM).await;
    let held = acquire("left/3").await;
    for store in [a, b] {
        assert_eq!(store.expired(&prefix).await, Ok(vec![left.clone()]));
    }
    // The holder does not need the lease now, and leaves it to anybody.
    assert_eq!(a.renew(vec![held.clone()], Duration::ZERO).await, Ok(Vec::new()));
    assert_eq!(b.expired(&prefix).await.unwrap().len(), 2);
    let taken = b.acquire(&held.name, "b", TERM).await.unwrap().unwrap();
    assert!(renew(a, &left).await);
    assert_eq!(b.expired(&prefix).await, Ok(Vec::new()));
    assert_eq!(b.release(&taken).await, Ok(()));
    assert_eq!(b.expired(&prefix).await, Ok(Vec::new()));
}

async fn a_holder_may_take_it_again(store: &dyn DurableStore) {
    let name = key("lease/again");
    let first = store.acquire(&name, "a", TERM).await.unwrap().unwrap();
    let second = store.acquire(&name, "a", TERM).await.unwrap().unwrap();
    assert!(second.fence > first.fence);
    assert!(!renew(store, &first).await);
    assert_eq!(store.release(&first).await, Ok(()));
    assert!(renew(store, &second).await);
}

async fn one_of_many_gets_it(bed: &dyn TestBed) {
    let stores: Vec<Arc<dyn DurableStore>> = join_all((0..4).map(|_| bed.open())).await;
    let name = key("lease/race");
    let wanted = (0..16).map(|number| stores[number % 4].acquire(&name, &format!("holder{number}"), TERM));
    let got = join_all(wanted).await.into_iter().filter(|answer| answer.as_ref().unwrap().is_some()).count();
    assert_eq!(got, 1);
}

/// This case is why tokens exist: a process stops in the middle of its work, and does not know that it lost its lease.
async fn a_replaced_owner_cannot_append(bed: &dyn TestBed, a: &dyn DurableStore, b: &dyn DurableStore) {
    let (name, log) = (key("lease/owner"), key("lease/log"));
    let old = a.acquire(&name, "a", TERM).await.unwrap().unwrap();
    a.append(&log, old.fence, 0, bodies(&["one"]), Durability::Process).await.unwrap();
    bed.pass(TERM).await;
    let new = b.acquire(&name, "b", TERM).await.unwrap().unwrap();
    b.append(&log, new.fence, 1, Vec::new(), Durability::Process).await.unwrap();
    let late = a.append(&log, old.fence, 1, bodies(&["two"]), Durability::Power);
    assert_eq!(late.await, Err(DurableError::Fenced));
    b.append(&log, new.fence, 1, bodies(&["two"]), Durability::Process).await.unwrap();
    bed.pass(TERM).await;
    let late = a.append(&log, old.fence, 2, bodies(&["three"]), Durability::Power);
    assert_eq!(late.await, Err(DurableError::Fenced), "however late, and whether or not the lease has an owner");
    assert_eq!(a.read(&log, 0, u64::MAX).await.unwrap().entries, bodies(&["one", "two"]));
}
