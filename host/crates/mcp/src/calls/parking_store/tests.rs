//! Tokens, and whose values are dropped to make room.

use super::*;
use platform::clock::ManualClock;
use serde_json::Value;

const ONE: Held = Held { instances: 1, bytes: 0 };
const KEEP: Duration = Duration::from_secs(10);

fn owner(name: &str) -> (Principal, RequestBinding) {
    let principal = Principal::from_source("key", name);
    let binding = RequestBinding::new(&principal, "tools/call", "book", &Value::Null, "v1", None);
    (principal, binding)
}

fn store(limits: ParkedCallLimits) -> (Arc<ParkingStore<u32>>, Arc<ManualClock>) {
    let clock = ManualClock::new();
    (ParkingStore::new(limits, clock.clone(), None).unwrap(), clock)
}

fn park(
    store: &ParkingStore<u32>,
    value: u32,
    owner: &Principal,
    held: Held,
    binding: &RequestBinding,
) -> Option<String> {
    park_for(store, KEEP, value, owner, held, binding)
}

fn park_for(
    store: &ParkingStore<u32>,
    keep: Duration,
    value: u32,
    owner: &Principal,
    held: Held,
    binding: &RequestBinding,
) -> Option<String> {
    let token = store.make_token(keep, binding).unwrap();
    store.park(value, owner, held, &token).then_some(token.token)
}

#[tokio::test]
async fn a_token_works_once_and_until_it_expires() {
    let (store, clock) = store(ParkedCallLimits::default());
    let (ann, binding) = owner("ann");
    let token = park(&store, 1, &ann, ONE, &binding).unwrap();
    assert_eq!(store.take(&token, &owner("bob").1), Err(ParkingError::Invalid));
    assert_eq!(store.take(&token, &binding), Ok(1));
    assert_eq!(store.take(&token, &binding), Err(ParkingError::Invalid));
    let token = park(&store, 2, &ann, ONE, &binding).unwrap();
    clock.pass(KEEP);
    assert_eq!(store.take(&token, &binding), Err(ParkingError::Expired));
    assert_eq!(store.len(), 0);
}

#[tokio::test]
async fn a_full_store_evicts_the_oldest_value_of_the_owner_with_most() {
    let (store, clock) = store(ParkedCallLimits { calls: 4, ..ParkedCallLimits::default() });
    let ((ann, anns), (bob, bobs)) = (owner("ann"), owner("bob"));
    let his = park(&store, 0, &bob, ONE, &bobs).unwrap();
    let hers: Vec<_> = (1..4)
        .map(|value| {
            clock.pass(Duration::from_secs(1));
            park(&store, value, &ann, ONE, &anns).unwrap()
        })
        .collect();
    park(&store, 3, &bob, ONE, &bobs).unwrap();
    assert_eq!(store.take(&hers[0], &anns), Err(ParkingError::Evicted));
    assert_eq!((store.take(&hers[1], &anns), store.take(&his, &bobs)), (Ok(2), Ok(0)));
}

#[tokio::test]
async fn room_is_made_by_whoever_holds_the_most() {
    let limits =
        ParkedCallLimits { calls: 100, per_principal: 50, memory: bytesize::ByteSize::b(1_000), stored: false };
    let (store, clock) = store(limits);
    let ((ann, anns), (bob, bobs)) = (owner("ann"), owner("bob"));
    let park = |value, owner, instances, bytes, binding| {
        clock.pass(Duration::from_secs(1));
        park_for(&store, KEEP * 9, value, owner, Held { instances, bytes }, binding)
    };
    // His many small values hold less than her few large ones.
    let his: Vec<_> = (0..9).map(|value| park(value, &bob, 1, 10, &bobs).unwrap()).collect();
    let hers: Vec<_> = (0..4).map(|value| park(value, &ann, 1, 300, &anns).unwrap()).collect();
    // Counted by instances, nested ones included.
    let nested = [park(20, &ann, 30, 0, &anns).unwrap(), park(21, &ann, 40, 0, &anns).unwrap()];
    // No value is dropped for one that is larger than the limit, or than its owner's part.
    assert_eq!(park(30, &ann, 1, 1_001, &anns), None);
    assert_eq!(park(31, &ann, 51, 0, &anns), None);
    let left = |tokens: &[String], binding: &RequestBinding| {
        tokens.iter().filter(|token| store.take(token, binding).is_ok()).count()
    };
    assert_eq!((left(&his, &bobs), left(&hers, &anns), left(&nested, &anns)), (9, 0, 1));
}
