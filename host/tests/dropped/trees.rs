//! Random trees of calls that end well, trap, run out, time out, and are cancelled or dropped with the whole tree: every caller
//! has paid what the calls below it took.

use super::is_full_size;
use super::parties::Spent;
use super::setup::{Job, Setup};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use tokio_util::sync::CancellationToken;

const TREES: u64 = 10_000;
const FEW: u64 = 200;

/// Steps of a plugin that calls others. No tool may call itself, so each level has one of its own.
fn steps(random: &mut fastrand::Rng, level: usize) -> Value {
    let one = |random: &mut fastrand::Rng| {
        let leaf = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
        match random.u8(0..8) {
            0 => leaf("echo.run", json!({"n": 1})),
            1 => leaf("burn.run", json!({"n": random.u32(0..200_000)})),
            2 => leaf("trap.run", json!({})),
            3 => leaf("poor.run", json!({"n": 10_000_000})),
            4 => json!({"name": "wait.run", "timeoutMs": random.u32(1..4)}),
            _ if level < 3 => {
                let script = steps(random, level + 1).to_string();
                // Sometimes an error below becomes one of its own, and sometimes there is too little time.
                let arguments = if random.bool() { json!({"path": script}) } else { json!({"path": script, "n": 1}) };
                let mut call = leaf(["a.run", "b.run", "c.run"][level], arguments);
                if random.u8(0..4) == 0 {
                    call["timeoutMs"] = random.u32(1..20).into();
                }
                call
            }
            _ => leaf("burn.run", json!({"n": 100})),
        }
    };
    let step = |random: &mut fastrand::Rng| match random.bool() {
        true => json!({"call": one(random)}),
        false => json!({"many": (0..random.usize(2..4)).map(|_| one(random)).collect::<Vec<_>>()}),
    };
    (0..random.usize(1..4)).map(|_| step(random)).collect()
}

/// Checks what everybody in a tree has paid; returns the number of calls, and of those that were dropped by a caller that
/// went on.
fn check(tree: u64, calls: &BTreeMap<String, Spent>) -> (usize, usize) {
    let (mut below, mut unknown) = (BTreeMap::<&str, u64>::new(), 0);
    for spent in calls.values() {
        let Some(parent) = &spent.parent else { continue };
        let paid = calls[parent].fuel;
        // The fuel of a call that was dropped is not known; its caller pays by its CPU time.
        *below.entry(parent.as_str()).or_default() += spent.fuel.unwrap_or_default();
        unknown += usize::from(spent.fuel.is_none() && paid.is_some());
    }
    for (parent, taken) in below {
        if let Some(paid) = calls[parent].fuel {
            assert!(paid >= taken, "tree {tree}: {parent} paid {paid} for {taken}: {calls:?}");
        }
    }
    (calls.len(), unknown)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_calls_pays_however_the_calls_below_end() {
    let setup = Setup::new().await;
    setup.assert_works(&setup.parties).await;
    let trees = if is_full_size() { TREES } else { FEW };
    let (mut calls, mut unknown, mut stopped) = (0, 0, 0);
    for tree in 0..trees {
        let mut random = fastrand::Rng::with_seed(tree);
        let script = steps(&mut random, 0).to_string();
        // Half of all trees are left to end.
        let stop_after = if random.bool() { random.usize(2..30) } else { usize::MAX };
        let (drops, cancel) = (random.bool(), CancellationToken::new());
        let job = Job { plugin: "agent-calls", arguments: json!({"path": script}) };
        {
            let mut call = pin!(setup.call(&setup.parties, job, cancel.clone()));
            let mut polls = 0;
            poll_fn(|context| {
                // A call below is over when it was seen, so that there are polls also if all of it computes in the pool.
                setup.parties.progress.current_wait(context.waker());
                polls += 1;
                if polls == stop_after {
                    stopped += 1;
                    cancel.cancel();
                    if drops {
                        return Poll::Ready(());
                    }
                }
                call.as_mut().poll(context).map(drop)
            })
            .await;
        }
        // A thread of the compute pool may be in the middle of a step of a call that was dropped.
        setup.assert_nothing_is_held(&format!("tree {tree}")).await;
        let (more, dropped) = check(tree, &setup.parties.tools.spent.lock().unwrap());
        (calls, unknown) = (calls + more, unknown + dropped);
    }
    setup.assert_works(&setup.parties).await;
    setup.assert_all_are_recorded();
    println!(
        "hostile: trees: {trees} with {calls} calls, {stopped} of them stopped; whoever called has paid, {unknown} times by the time of a dropped call"
    );
    assert!(stopped > trees / 20 && calls as u64 > 3 * trees, "{stopped} stopped, {calls} calls");
}
