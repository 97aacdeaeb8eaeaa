//! Slots are handed out fairly, and none is lost, in any order of events.

use super::*;
use futures::FutureExt;
use futures::future::BoxFuture;
use policy::Side;

fn request(principal: &'static str, plugin: &str, concurrent: u32, queue: u32) -> SlotRequest {
    let plugin = PluginId { side: Side::Server, name: plugin.into() };
    SlotRequest { principal: principal.into(), plugin, concurrent, queue }
}

fn semaphore(total: u32, per_principal: u32, queue: u32) -> FairSemaphore {
    FairSemaphore::new(SlotLimits { total, per_principal, queue })
}

/// Queues for a slot, which must not be free.
fn enqueue(semaphore: &FairSemaphore, request: &SlotRequest) -> BoxFuture<'static, Slot> {
    let (semaphore, request) = (semaphore.clone(), request.clone());
    let mut waiting = async move { semaphore.acquire(&request).await.expect("the queue is not full") }.boxed();
    assert!((&mut waiting).now_or_never().is_none(), "a slot is free");
    waiting
}

/// Takes a slot, which must be free.
fn acquire(semaphore: &FairSemaphore, request: &SlotRequest) -> Slot {
    semaphore.acquire(request).now_or_never().expect("a slot is free").expect("no queue is full")
}

/// Removes the waiters that have been granted a slot.
fn granted(waiting: &mut Vec<(usize, BoxFuture<'static, Slot>)>) -> Vec<(usize, Slot)> {
    let mut granted = Vec::new();
    waiting.retain_mut(|(number, future)| match future.now_or_never() {
        Some(slot) => {
            granted.push((*number, slot));
            false
        }
        None => true,
    });
    granted
}

#[test]
fn a_plugin_with_a_long_queue_delays_only_itself() {
    let semaphore = semaphore(1, 1, 1_000);
    let (noisy, quiet) = (request("ann", "noisy", 9, 1_000), request("ann", "quiet", 9, 1_000));
    let first = acquire(&semaphore, &noisy);
    let mut waiting: Vec<_> = (0..500).map(|number| (number, enqueue(&semaphore, &noisy))).collect();
    waiting.push((1_000, enqueue(&semaphore, &quiet)));
    drop(first);
    let (mut order, mut held) = (Vec::new(), None);
    for _ in 0..3 {
        drop(held.take());
        let mut granted = granted(&mut waiting);
        assert_eq!(granted.len(), 1);
        let (number, slot) = granted.remove(0);
        order.push(number);
        held = Some(slot);
    }
    assert_eq!(order, [0, 1_000, 1], "the neighbour's only call is the second");
}

#[test]
fn a_principal_with_many_plugins_gets_one_turn_per_round() {
    let semaphore = semaphore(1, 1, 1_000);
    let slot = acquire(&semaphore, &request("ann", "a", 9, 9));
    let mut waiting: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .enumerate()
        .map(|(number, plugin)| (number, enqueue(&semaphore, &request("ann", plugin, 9, 9))))
        .collect();
    waiting.push((10, enqueue(&semaphore, &request("bob", "a", 9, 9))));
    waiting.push((11, enqueue(&semaphore, &request("bob", "a", 9, 9))));
    drop(slot);
    let mut order = Vec::new();
    while !waiting.is_empty() {
        order.extend(granted(&mut waiting).into_iter().map(|(number, _)| number));
    }
    assert_eq!(order, [0, 10, 1, 11, 2, 3]);
    assert!(semaphore.is_idle());
}

#[test]
fn ceilings_leave_slots_to_others() {
    let semaphore = semaphore(4, 3, 9);
    let slow = request("ann", "slow", 2, 1);
    let (first, _second) = (acquire(&semaphore, &slow), acquire(&semaphore, &slow));
    let mut third = enqueue(&semaphore, &slow);
    assert_eq!(semaphore.acquire(&slow).now_or_never().unwrap().err(), Some(QueueFull::Plugin(1)));
    let _quick = acquire(&semaphore, &request("ann", "quick", 2, 1));
    let mut fourth = enqueue(&semaphore, &request("ann", "other", 2, 1));
    let _bob = acquire(&semaphore, &request("bob", "quick", 2, 1));
    drop(first);
    let third = (&mut third).now_or_never().expect("it is next");
    assert!((&mut fourth).now_or_never().is_none(), "ann has three");
    drop(third);
    (&mut fourth).now_or_never().expect("it is next");
}

#[test]
fn a_full_queue_refuses_new_calls_but_not_returning_ones() {
    let semaphore = semaphore(1, 1, 2);
    let request = |plugin| request("ann", plugin, 1, 9);
    let slot = acquire(&semaphore, &request("a"));
    let mut new = enqueue(&semaphore, &request("a"));
    let other = enqueue(&semaphore, &request("b"));
    assert_eq!(semaphore.acquire(&request("c")).now_or_never().unwrap().err(), Some(QueueFull::Principal(2)));
    let returning_request = request("a");
    let mut returning = semaphore.reacquire(&returning_request).boxed();
    assert!((&mut returning).now_or_never().is_none());
    drop(slot);
    assert!((&mut new).now_or_never().is_none());
    let slot = (&mut returning).now_or_never().expect("it is first in its plugin's queue").unwrap();
    drop(returning);
    drop((slot, new, other));
    assert!(semaphore.is_idle() && semaphore.lock().principals.is_empty() && semaphore.lock().plugins.is_empty());
}

#[test]
fn a_cancelled_waiter_loses_no_slot() {
    let semaphore = semaphore(1, 1, 9);
    let ann = request("ann", "a", 1, 9);
    let slot = acquire(&semaphore, &ann);
    let (cancelled, mut next) = (enqueue(&semaphore, &ann), enqueue(&semaphore, &ann));
    drop(cancelled);
    // A waiter that was granted a slot, and dropped before it was polled again.
    let unpolled = enqueue(&semaphore, &request("bob", "b", 1, 9));
    drop(slot);
    let slot = (&mut next).now_or_never().expect("it is next");
    drop(slot);
    drop(unpolled);
    assert!(semaphore.is_idle());
}

/// Xorshift, so that each run has the same schedules.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or(0)
    }
}

#[test]
fn ten_thousand_schedules_lose_no_slot_and_no_waiter() {
    const PRINCIPALS: [&str; 4] = ["ann", "bob", "cid", "dot"];
    const PLUGINS: [&str; 3] = ["a", "b", "c"];
    for seed in 1..=10_000u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (total, per_principal) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
        let concurrent: Vec<u32> = PLUGINS.iter().map(|_| 1 + random.below(3) as u32).collect();
        let queue = 1 + random.below(6) as u32;
        let semaphore = semaphore(total, per_principal, queue);
        let mut held: Vec<Slot> = Vec::new();
        let mut waiting: Vec<(usize, BoxFuture<'static, Slot>)> = Vec::new();
        for step in 0..30 {
            match random.below(5) {
                0 | 1 => {
                    let plugin = random.below(PLUGINS.len());
                    let principal = PRINCIPALS[random.below(PRINCIPALS.len())];
                    let request = request(principal, PLUGINS[plugin], concurrent[plugin], queue);
                    let (semaphore, returning) = (semaphore.clone(), random.below(4) == 0);
                    let mut acquiring = async move { semaphore.acquire_or_wait(&request, returning).await }.boxed();
                    match (&mut acquiring).now_or_never() {
                        Some(Ok(slot)) => held.push(slot),
                        Some(Err(_)) => {}
                        None => waiting.push((step, acquiring.map(|slot| slot.expect("it is queued")).boxed())),
                    }
                }
                2 if !held.is_empty() => drop(held.swap_remove(random.below(held.len()))),
                // It may have been granted a slot that it has not seen.
                3 if !waiting.is_empty() => drop(waiting.swap_remove(random.below(waiting.len()))),
                _ => held.extend(granted(&mut waiting).into_iter().map(|(_, slot)| slot)),
            }
            check_invariants(&semaphore, per_principal);
        }
        // Every waiter is granted a slot in the end.
        while !waiting.is_empty() || !held.is_empty() {
            held.clear();
            let granted = granted(&mut waiting);
            assert!(!granted.is_empty() || waiting.is_empty(), "seed {seed}: a waiter is never granted a slot");
            held.extend(granted.into_iter().map(|(_, slot)| slot));
        }
        let inner = semaphore.lock();
        assert_eq!(inner.free, total, "seed {seed}: a slot is lost");
        assert!(inner.principals.is_empty() && inner.plugins.is_empty() && inner.queue.len() == 0, "seed {seed}");
    }
}

/// The counts agree, no ceiling is exceeded, and no slot is free that a waiter could have.
fn check_invariants(semaphore: &FairSemaphore, per_principal: u32) {
    let mut inner = semaphore.lock();
    let by_principal: u32 = inner.principals.values().map(|usage| usage.running).sum();
    let by_plugin: u32 = inner.plugins.values().map(|usage| usage.running).sum();
    let in_use = inner.limits.total - inner.free;
    assert_eq!((by_principal, by_plugin), (in_use, in_use));
    assert!(inner.principals.values().all(|usage| usage.running <= per_principal));
    let by_principal: u32 = inner.principals.values().map(|usage| usage.waiting).sum();
    let by_plugin: u32 = inner.plugins.values().map(|usage| usage.waiting).sum();
    let queued = inner.queue.len();
    assert_eq!((by_principal as usize, by_plugin as usize), (queued, queued));
    if inner.free > 0 {
        assert!(inner.pop_eligible().is_none(), "an eligible waiter was not granted a free slot");
    }
}
