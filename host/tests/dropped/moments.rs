//! A call that is dropped or cancelled while it waits leaves nothing behind: wherever it waits (for the reader of a chunk,
//! for the user, for another tool, for the disk, for a server, for a timer), and at each of its polls.
//!
//! How often a call is polled depends on the speed of the machine, so the number of polls is not asserted. Instead, calls
//! are stopped at each of the [`WAITS`], until every one was seen.

use super::is_full_size;
use super::parties::WAITS;
use super::setup::{Job, Setup, Stop, When};
use serde_json::{Value, json};

/// A wait for the disk or a timer may be over before the call is polled. Calls are repeated until one is seen waiting.
const MAX_ATTEMPTS: u32 = 500;
/// Bounds the polls of one call, so that the test ends.
const MAX_POLLS: usize = 5_000;
/// The polls after which each scenario is stopped, if it lasts so long.
const POLLS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_anywhere_leaves_nothing() {
    let setup = Setup::new().await;
    setup.assert_works(&setup.parties).await;
    let job = setup.everything();
    for stop in [Stop::Drop, Stop::Cancel] {
        for wait in WAITS {
            let mut attempts = 1;
            while !setup.assert_leaves_nothing(&job, When::WaitsFor(wait), stop).await {
                attempts += 1;
                assert!(attempts <= MAX_ATTEMPTS, "no call was seen waiting for {wait:?}");
            }
        }
        let mut polls = 1;
        while setup.assert_leaves_nothing(&job, When::AfterPolls(polls), stop).await {
            polls += 1;
            assert!(polls < MAX_POLLS, "the call does not end");
        }
        println!("T10: {stop:?} at each of {} waits and {polls} polls: nothing left", WAITS.len());
        setup.assert_works(&setup.parties).await;
    }
    setup.assert_all_are_recorded();
}

/// Calls that wait for something else each, alone or for several things at once.
fn scenarios(setup: &Setup) -> Vec<Job> {
    let job = |plugin, arguments| Job { plugin, arguments };
    let url = setup.web.url("/");
    let call = |name: &str, arguments: Value| json!({"call": {"name": name, "arguments": arguments}});
    let steps = |steps: Value| json!({"path": steps.to_string()});
    let inner = steps(json!([call("echo.run", json!({"n": 1})), call("burn.run", json!({"n": 1_000}))]));
    let several =
        json!({"many": (0..4).map(|n| json!({"name": "echo.run", "arguments": {"n": n}})).collect::<Vec<_>>()});
    let mixed = json!({"many": [
        {"name": "trap.run"}, {"name": "echo.run"}, {"name": "a.run", "arguments": inner}, {"name": "wait.run", "timeoutMs": 5},
    ]});
    vec![
        setup.everything(),
        job("echo", json!({"n": 1})),
        job("burn", json!({"n": 300_000})),
        job("chunk-flood", json!({"n": 300})),
        job("slow-stream", json!({"n": 2})),
        job("log-flood", json!({"n": 100})),
        job("write-inside", json!({})),
        job("read-inside", json!({})),
        job("keeper", json!({"path": "many k", "n": 300})),
        job("keeper", json!({"path": "count n"})),
        job("publish-all", json!({"n": 3})),
        job("fetcher", json!({"path": format!("GET {url}")})),
        job("fetcher", json!({"path": format!("leave\nGET {url}")})),
        job("fetcher", json!({"path": format!("hold\nGET {url}")})),
        job("ask", json!({"path": "form"})),
        job("ask", json!({"path": "rounds", "n": 5})),
        job("ask", json!({"path": "url"})),
        job("ask", json!({"path": "samples", "n": 3})),
        job("ask", json!({"path": "many"})),
        job("ask", json!({"path": "roots"})),
        job("agent-calls", steps(json!([call("echo.run", json!({})), {"emit": "x"}, {"ask": "who"}]))),
        job("agent-calls", steps(json!([several]))),
        job("agent-calls", steps(json!([call("a.run", steps(json!([call("b.run", inner.clone())])))]))),
        job("agent-calls", steps(json!([mixed]))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_that_are_given_up_after_any_poll_leave_nothing() {
    let setup = Setup::new().await;
    setup.assert_works(&setup.parties).await;
    let scenarios = scenarios(&setup);
    let wanted = |polls: &usize| is_full_size() || matches!(polls, 1..=4 | 7 | 12 | 20 | 50 | 100 | 200);
    let (mut stopped, mut longest) = (0, 0);
    for job in &scenarios {
        for stop in [Stop::Drop, Stop::Cancel] {
            for polls in (1..=POLLS).filter(wanted) {
                // One that was over before is over at the next one too, unless the machine is slow.
                if !setup.assert_leaves_nothing(job, When::AfterPolls(polls), stop).await {
                    break;
                }
                stopped += 1;
                longest = longest.max(polls);
            }
        }
    }
    setup.assert_works(&setup.parties).await;
    let recorded = setup.assert_all_are_recorded().len();
    println!(
        "hostile: moments: {stopped} calls of {} scenarios stopped, after up to {longest} polls; nothing left, {recorded} records",
        scenarios.len()
    );
    assert!(scenarios.len() >= 20 && stopped > 2 * scenarios.len(), "only {stopped} calls were stopped");
}
