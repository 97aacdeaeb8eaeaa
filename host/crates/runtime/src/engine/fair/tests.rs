//! Nobody is forgotten, nobody is served twice, and turns go round, in any order of events.

use super::*;
use futures::FutureExt;
use futures::future::BoxFuture;
use policy::Side;

fn slot_request(principal: &'static str, plugin: &str, concurrent: u32, queue: u32) -> SlotRequest {
    let plugin = PluginId { side: Side::Server, name: plugin.into() };
    SlotRequest { principal: principal.into(), plugin, concurrent, queue }
}

fn fair(all: u32, per_principal: u32, queue: u32) -> FairSemaphore {
    FairSemaphore::new(SlotLimits { all, per_principal, queue })
}

/// Waits for a place; it must not be there at once.
fn waits(fair: &FairSemaphore, who: &SlotRequest) -> BoxFuture<'static, Slot> {
    let (fair, who) = (fair.clone(), who.clone());
    let mut waiting = async move { fair.place(&who).await.expect("there is room in the line") }.boxed();
    assert!((&mut waiting).now_or_never().is_none(), "there is a place");
    waiting
}

fn has(fair: &FairSemaphore, who: &SlotRequest) -> Slot {
    fair.place(who).now_or_never().expect("there is a place").expect("no line is full")
}

/// Which of them has been called, and its place.
fn called(waiting: &mut Vec<(usize, BoxFuture<'static, Slot>)>) -> Vec<(usize, Slot)> {
    let mut got = Vec::new();
    waiting.retain_mut(|(name, future)| match future.now_or_never() {
        Some(held) => {
            got.push((*name, held));
            false
        }
        None => true,
    });
    got
}

#[test]
fn a_plugin_with_a_long_line_delays_only_itself() {
    let fair = fair(1, 1, 1_000);
    let (noisy, quiet) = (slot_request("ann", "noisy", 9, 1_000), slot_request("ann", "quiet", 9, 1_000));
    let first = has(&fair, &noisy);
    let mut waiting: Vec<_> = (0..500).map(|name| (name, waits(&fair, &noisy))).collect();
    waiting.push((1_000, waits(&fair, &quiet)));
    drop(first);
    let (mut order, mut place) = (Vec::new(), None);
    for _ in 0..3 {
        drop(place.take());
        let mut got = called(&mut waiting);
        assert_eq!(got.len(), 1);
        let (name, held) = got.remove(0);
        order.push(name);
        place = Some(held);
    }
    assert_eq!(order, [0, 1_000, 1], "the neighbour's only call was the next but one");
}

#[test]
fn a_principal_with_many_plugins_has_one_turn() {
    let fair = fair(1, 1, 1_000);
    let place = has(&fair, &slot_request("ann", "a", 9, 9));
    let plugins = ["a", "b", "c", "d"];
    let mut waiting: Vec<_> =
        plugins.iter().enumerate().map(|(name, plugin)| (name, waits(&fair, &slot_request("ann", plugin, 9, 9)))).collect();
    waiting.push((10, waits(&fair, &slot_request("bob", "a", 9, 9))));
    waiting.push((11, waits(&fair, &slot_request("bob", "a", 9, 9))));
    drop(place);
    let mut order = Vec::new();
    while !waiting.is_empty() {
        order.extend(called(&mut waiting).into_iter().map(|(name, _)| name));
    }
    assert_eq!(order, [0, 10, 1, 11, 2, 3]);
    assert!(fair.is_idle());
}

#[test]
fn ceilings_leave_places_to_others() {
    let fair = fair(4, 3, 9);
    let slow = slot_request("ann", "slow", 2, 1);
    let (one, _two) = (has(&fair, &slow), has(&fair, &slow));
    let mut third = waits(&fair, &slow);
    assert_eq!(fair.place(&slow).now_or_never().unwrap().err(), Some(QueueFull::Plugin(1)));
    let _quick = has(&fair, &slot_request("ann", "quick", 2, 1));
    let mut fourth = waits(&fair, &slot_request("ann", "other", 2, 1));
    let _bob = has(&fair, &slot_request("bob", "quick", 2, 1));
    drop(one);
    let third = (&mut third).now_or_never().expect("its turn");
    assert!((&mut fourth).now_or_never().is_none(), "ann has three");
    drop(third);
    (&mut fourth).now_or_never().expect("its turn");
}

#[test]
fn a_line_is_bounded_and_who_comes_back_is_let_in() {
    let fair = fair(1, 1, 2);
    let who = |plugin| slot_request("ann", plugin, 1, 9);
    let place = has(&fair, &who("a"));
    let mut new = waits(&fair, &who("a"));
    let _b = waits(&fair, &who("b"));
    assert_eq!(fair.place(&who("c")).now_or_never().unwrap().err(), Some(QueueFull::Principal(2)));
    let back = who("a");
    let mut again = fair.place_again(&back).boxed();
    assert!((&mut again).now_or_never().is_none());
    drop(place);
    assert!((&mut new).now_or_never().is_none());
    let place = (&mut again).now_or_never().expect("it was here before").unwrap();
    drop(again);
    drop((place, new, _b));
    assert!(fair.is_idle() && fair.lines().principals.is_empty() && fair.lines().plugins.is_empty());
}

#[test]
fn who_stops_waiting_leaves_no_gap() {
    let fair = fair(1, 1, 9);
    let who = slot_request("ann", "a", 1, 9);
    let place = has(&fair, &who);
    let (gone, mut next) = (waits(&fair, &who), waits(&fair, &who));
    drop(gone);
    // Called, and gone before it heard.
    let heard = waits(&fair, &slot_request("bob", "b", 1, 9));
    drop(place);
    let place = (&mut next).now_or_never().expect("its turn");
    drop(place);
    drop(heard);
    assert!(fair.is_idle());
}

/// A small generator: the same schedules in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or(0)
    }
}

#[test]
fn ten_thousand_schedules_lose_nothing() {
    const WHO: [&str; 4] = ["ann", "bob", "cid", "dot"];
    const WHAT: [&str; 3] = ["a", "b", "c"];
    for seed in 1..=10_000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (all, most) = (1 + dice.below(4), 1 + dice.below(4));
        let ceilings: Vec<u32> = WHAT.iter().map(|_| 1 + dice.below(3) as u32).collect();
        let queue = 1 + dice.below(6) as u32;
        let fair = fair(all as u32, most as u32, queue);
        let mut held: Vec<Slot> = Vec::new();
        let mut waiting: Vec<(usize, BoxFuture<'static, Slot>)> = Vec::new();
        for step in 0..30 {
            match dice.below(5) {
                0 | 1 => {
                    let plugin = dice.below(WHAT.len());
                    let who = slot_request(WHO[dice.below(WHO.len())], WHAT[plugin], ceilings[plugin], queue);
                    let (asked, again) = (fair.clone(), dice.below(4) == 0);
                    let mut seeking =
                        async move { if again { asked.place_again(&who).await } else { asked.place(&who).await } }
                            .boxed();
                    match (&mut seeking).now_or_never() {
                        Some(Ok(place)) => held.push(place),
                        Some(Err(_)) => {}
                        None => waiting.push((step, seeking.map(|place| place.expect("it is in line")).boxed())),
                    }
                }
                2 if !held.is_empty() => drop(held.swap_remove(dice.below(held.len()))),
                // Perhaps it was called already, and has not heard.
                3 if !waiting.is_empty() => drop(waiting.swap_remove(dice.below(waiting.len()))),
                _ => held.extend(called(&mut waiting).into_iter().map(|(_, place)| place)),
            }
            check(&fair, most as u32);
        }
        // Whoever still waits is called in the end.
        while !waiting.is_empty() || !held.is_empty() {
            held.clear();
            let got = called(&mut waiting);
            assert!(!got.is_empty() || waiting.is_empty(), "seed {seed}: somebody is forgotten");
            held.extend(got.into_iter().map(|(_, place)| place));
        }
        let lines = fair.lines();
        assert_eq!(lines.free, all as u32, "seed {seed}: a place is lost");
        assert!(lines.principals.is_empty() && lines.plugins.is_empty() && lines.line.waiting() == 0, "seed {seed}");
    }
}

/// The books agree, and no place is free that somebody waits for.
fn check(fair: &FairSemaphore, most: u32) {
    let mut lines = fair.lines();
    let by_principal: u32 = lines.principals.values().map(|count| count.running).sum();
    let by_plugin: u32 = lines.plugins.values().map(|count| count.running).sum();
    assert_eq!((by_principal, by_plugin), (lines.places.all - lines.free, lines.places.all - lines.free));
    assert!(lines.principals.values().all(|count| count.running <= most));
    let by_principal: u32 = lines.principals.values().map(|count| count.waiting).sum();
    let by_plugin: u32 = lines.plugins.values().map(|count| count.waiting).sum();
    assert_eq!((by_principal as usize, by_plugin as usize), (lines.line.waiting(), lines.line.waiting()));
    if lines.free > 0 {
        assert!(lines.next().is_none(), "somebody waits for a place that is free");
    }
}
