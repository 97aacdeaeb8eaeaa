//! Keys over a store in memory: which request runs the call, which ones wait, what is kept and for how long. Two holders stand
//! for two processes.

use super::claim::{Claim, NoClaim};
use super::keys::IdempotencyKeys;
use super::running::MOST_WAITING;
use super::{CallKey, ClaimedKey, KeyScope};
use bytesize::ByteSize;
use platform::clock::{Clock as _, ManualClock};
use platform::durable::{DurableError, DurableStore as _, Key, MemoryStore};
use policy::{IdempotencyLimits, Principal};
use rmcp::model::JsonObject;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

struct Fixture {
    store: MemoryStore,
    clock: Arc<ManualClock>,
    limits: IdempotencyLimits,
}

impl Fixture {
    fn new() -> Self {
        let clock = ManualClock::new();
        Self { store: MemoryStore::new(clock.clone()), clock, limits: IdempotencyLimits::default() }
    }

    fn process(&self, holder: &str) -> Arc<IdempotencyKeys> {
        IdempotencyKeys::new(Arc::new(self.store.clone()), holder.into(), self.limits.clone(), self.clock.clone())
            .unwrap()
    }
}

fn key_of(principal: &str, text: &str, n: u32) -> CallKey {
    let principal = Principal::from_source("key", principal);
    CallKey::new(&principal, KeyScope::Meta, text.into(), "shop__buy", &json!({ "n": n })).unwrap()
}

fn key(text: &str) -> CallKey {
    key_of("ann", text, 1)
}

async fn claim(keys: &Arc<IdempotencyKeys>, key: &CallKey) -> Result<Claim, NoClaim> {
    keys.claim(key, None, &CancellationToken::new()).await
}

/// Claims a key that nobody has claimed.
async fn run(keys: &Arc<IdempotencyKeys>, key: &CallKey) -> ClaimedKey {
    match claim(keys, key).await {
        Ok(Claim::Run(claimed)) => claimed,
        Ok(_) => panic!("it was used already"),
        Err(error) => panic!("{error}"),
    }
}

fn said(word: &str) -> JsonObject {
    json!({"content": [], "said": word, "_meta": {"kept": 1}}).as_object().cloned().unwrap()
}

async fn result(keys: &Arc<IdempotencyKeys>, key: &CallKey) -> JsonObject {
    match claim(keys, key).await {
        Ok(Claim::Done(result)) => result,
        Ok(_) => panic!("it has no result"),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_key_runs_once_and_is_its_principals() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.process("process-1"), fixture.process("process-2"));
    run(&one, &key("k")).await.end(said("first")).await;
    for process in [&one, &other, &fixture.process("process-1")] {
        assert_eq!(result(process, &key("k")).await, said("first"));
        let refused = claim(process, &key_of("ann", "k", 2)).await;
        assert!(matches!(refused, Err(NoClaim::Other)), "other arguments");
    }
    run(&one, &key_of("bob", "k", 2)).await.end(said("his")).await;
    assert_eq!(result(&other, &key_of("bob", "k", 2)).await, said("his"));
    run(&one, &key("l")).await.fail(said("an error")).await;
    assert!(matches!(claim(&other, &key("l")).await, Ok(Claim::Failed(error)) if error == said("an error")));
    run(&one, &key("m")).await.became_task(Duration::from_secs(5)).await;
    assert!(matches!(claim(&other, &key("m")).await, Ok(Claim::Task(id)) if id.len() == 32));
}

#[tokio::test]
async fn a_call_that_was_not_started_leaves_no_key() {
    let fixture = Fixture::new();
    let keys = fixture.process("process-1");
    run(&keys, &key("k")).await.not_started().await;
    run(&keys, &key_of("ann", "k", 2)).await.end(said("second")).await;
    assert_eq!(result(&keys, &key_of("ann", "k", 2)).await, said("second"));
}

#[tokio::test]
async fn whoever_comes_at_the_same_time_waits() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.process("process-1"), fixture.process("process-2"));
    let claimed = run(&one, &key("k")).await;
    let waiting: Vec<_> = [&one, &one, &other, &other]
        .map(|process| {
            let process = process.clone();
            tokio::spawn(async move { result(&process, &key("k")).await })
        })
        .into();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    let gone = CancellationToken::new();
    gone.cancel();
    for process in [&one, &other] {
        assert!(matches!(process.claim(&key("k"), None, &gone).await, Err(NoClaim::Gone)));
    }
    claimed.end(said("once")).await;
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), said("once"));
    }
    // If nothing was started, one of the waiting requests runs the call.
    let claimed = run(&one, &key("l")).await;
    let next = tokio::spawn(async move { run(&one, &key("l")).await.end(said("next")).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    claimed.not_started().await;
    next.await.unwrap();
    assert_eq!(result(&other, &key("l")).await, said("next"));
}

#[tokio::test]
async fn only_so_many_wait_for_one_call() {
    let fixture = Fixture::new();
    let keys = fixture.process("process-1");
    let claimed = run(&keys, &key("k")).await;
    let gone = CancellationToken::new();
    for _ in 0..MOST_WAITING {
        let (keys, gone) = (keys.clone(), gone.clone());
        tokio::spawn(async move { keys.claim(&key("k"), None, &gone).await.map(drop) });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(matches!(claim(&keys, &key("k")).await, Err(NoClaim::TooManyWait)));
    gone.cancel();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = tokio::spawn(async move { result(&keys, &key("k")).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    claimed.end(said("done")).await;
    assert_eq!(waiting.await.unwrap(), said("done"));
}

#[tokio::test]
async fn what_a_process_left_behind_is_not_run_again() {
    let fixture = Fixture::new();
    let first = fixture.process("process-1");
    let (left, task) = {
        let claimed = run(&first, &key("k")).await;
        let task = claimed.task().to_owned();
        (claimed, task)
    };
    let lost = |claim| matches!(claim, Ok(Claim::Lost { task: id, .. }) if id == task);
    assert!(lost(claim(&fixture.process("process-1"), &key("k")).await), "its place was taken");
    let other = fixture.process("process-2");
    let waiting = {
        let other = other.clone();
        tokio::spawn(async move { claim(&other, &key("k")).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "its lease holds");
    fixture.clock.pass(Duration::from_secs(31));
    assert!(lost(waiting.await.unwrap()), "its lease is over");
    assert!(lost(claim(&other, &key("k")).await), "and stays so");
    // A call whose end could not be stored is lost, also in its own process.
    drop(run(&other, &key("l")).await);
    assert!(matches!(claim(&other, &key("l")).await, Ok(Claim::Lost { .. })));
    // The process was only slow, and stores the real end.
    left.end(said("after all")).await;
    assert_eq!(result(&other, &key("k")).await, said("after all"));
}

#[tokio::test]
async fn a_call_that_had_done_nothing_leaves_its_key_free() {
    let fixture = Fixture::new();
    let untouched = async |keys: &Arc<IdempotencyKeys>| match claim(keys, &key("k")).await.unwrap() {
        Claim::Lost { untouched, .. } => untouched,
        _ => panic!("it was not lost"),
    };
    let first = run(&fixture.process("process-1"), &key("k")).await;
    let later = fixture.process("process-1");
    let free = untouched(&later).await.expect("it had done nothing");
    later.set_free(free).await.unwrap();
    let second = run(&later, &key("k")).await;
    (second.effect_guard())().await.unwrap();
    (second.effect_guard())().await.unwrap();
    let last = fixture.process("process-1");
    assert!(untouched(&last).await.is_none(), "nobody knows what it did");
    // The process was only paused, and its call must not do anything now.
    assert_eq!((first.effect_guard())().await, Err(DurableError::Fenced));
    first.end(said("first")).await;
    second.end(said("second")).await;
    assert_eq!(result(&last, &key("k")).await, said("second"));
    // A call that was parked meanwhile is still the same call, and may.
    let parked = run(&last, &key("p")).await;
    let guard = parked.effect_guard();
    parked.park("t".into(), said("a question")).await;
    assert_eq!(guard().await, Ok(()));
    let Ok(Claim::Run(resumed)) = last.claim(&key("p"), Some("t"), &CancellationToken::new()).await else { panic!() };
    drop(resumed);
    let Claim::Lost { untouched, .. } = claim(&last, &key("p")).await.unwrap() else { panic!() };
    assert!(untouched.is_none(), "its first round may have done something");
}

#[tokio::test]
async fn a_parked_call_is_resumed_with_its_token_only() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.process("process-1"), fixture.process("process-2"));
    run(&one, &key("k")).await.park("t1".into(), said("a question")).await;
    for resumes in [None, Some("t0")] {
        let found = other.claim(&key("k"), resumes, &CancellationToken::new()).await;
        assert!(matches!(found, Ok(Claim::Parked { token, result }) if token == "t1" && result == said("a question")));
    }
    let resume = async |process: &Arc<IdempotencyKeys>, token| match process
        .claim(&key("k"), Some(token), &CancellationToken::new())
        .await
    {
        Ok(Claim::Run(claimed)) if claimed.is_resumed() => claimed,
        _ => panic!("it is not resumed"),
    };
    resume(&other, "t1").await.not_started().await;
    assert!(matches!(claim(&one, &key("k")).await, Ok(Claim::Parked { token, .. }) if token == "t1"), "as it was");
    resume(&other, "t1").await.park("t2".into(), said("another")).await;
    let stale = one.claim(&key("k"), Some("t1"), &CancellationToken::new()).await;
    assert!(matches!(stale, Ok(Claim::Parked { token, .. }) if token == "t2"), "the newest question");
    resume(&one, "t2").await.end(said("done")).await;
    assert_eq!(result(&other, &key("k")).await, said("done"));
}

#[tokio::test]
async fn keys_expire_but_not_while_their_calls_run() {
    let mut fixture = Fixture::new();
    fixture.limits.keep = Duration::from_secs(60);
    let (one, other) = (fixture.process("process-1"), fixture.process("process-2"));
    run(&one, &key("done")).await.end(said("done")).await;
    run(&one, &key("task")).await.became_task(Duration::from_secs(100)).await;
    let claimed = run(&one, &key("runs")).await;
    other.find_all().await.unwrap();
    fixture.clock.pass(Duration::from_secs(61));
    one.process.hold(&fixture.store).await.unwrap();
    for keys in [&one, &other] {
        keys.sweep().await.unwrap();
    }
    assert!(matches!(claim(&other, &key("task")).await, Ok(Claim::Task(_))), "it may still run");
    let gone = CancellationToken::new();
    gone.cancel();
    assert!(matches!(other.claim(&key("runs"), None, &gone).await, Err(NoClaim::Gone)), "it still runs");
    claimed.end(said("late")).await;
    assert_eq!(result(&other, &key("runs")).await, said("late"));
    run(&other, &key_of("ann", "done", 2)).await.end(said("anew")).await;
    fixture.clock.pass(Duration::from_secs(161));
    for keys in [&one, &other] {
        keys.sweep().await.unwrap();
        assert_eq!(keys.table.lock().next_expiry(), None, "there is nothing left to do");
    }
    let left = fixture.store.list(&Key::new("idempotency").unwrap(), None, 9);
    assert!(left.await.unwrap().is_empty());
    // The key expires even without a sweep.
    run(&one, &key("k")).await.end(said("old")).await;
    fixture.clock.pass(Duration::from_secs(61));
    run(&one, &key_of("ann", "k", 3)).await.end(said("new")).await;
}

/// Otherwise a repeated call would run again.
#[tokio::test]
async fn a_clock_that_is_set_ends_no_key() {
    let fixture = Fixture::new();
    let one = fixture.process("process-1");
    run(&one, &key("k")).await.end(said("done")).await;
    fixture.clock.set_wall(fixture.clock.unix() + fixture.limits.keep * 2);
    let later = fixture.process("process-2");
    later.find_all().await.unwrap();
    for keys in [&one, &later] {
        keys.sweep().await.unwrap();
        assert_eq!(result(keys, &key("k")).await, said("done"));
    }
    fixture.clock.pass(fixture.limits.keep);
    later.sweep().await.unwrap();
    run(&later, &key("k")).await.not_started().await;
}

#[tokio::test]
async fn keys_are_bounded() {
    let mut fixture = Fixture::new();
    fixture.limits = IdempotencyLimits { per_principal: 2, size: ByteSize::kib(6), ..IdempotencyLimits::default() };
    let keys = fixture.process("process-1");
    let running = [run(&keys, &key("a")).await, run(&keys, &key("b")).await];
    assert!(matches!(claim(&keys, &key("c")).await, Err(NoClaim::Full)), "all of hers run");
    run(&keys, &key_of("bob", "c", 1)).await.end(said("his")).await;
    let [a, b] = running;
    a.end(said("a")).await;
    run(&keys, &key("c")).await.end(said("c")).await;
    b.end(said("b")).await;
    assert_eq!(result(&keys, &key("c")).await, said("c"));
    assert_eq!(result(&keys, &key_of("bob", "c", 1)).await, said("his"), "others keep theirs");
    run(&keys, &key("a")).await.not_started().await;
    // A result for which there is no room is not kept, and the call is not run again.
    run(&keys, &key_of("cat", "k", 1)).await.end(said(&"x".repeat(7_000))).await;
    let kept = result(&keys, &key_of("cat", "k", 1)).await;
    assert_eq!(kept["_meta"]["dev.portcullis/error"]["code"], "result-not-kept");
    assert_eq!((&kept["isError"], &kept["_meta"]["kept"]), (&json!(true), &json!(1)));
}
