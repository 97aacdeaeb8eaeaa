//! A function of the host that panics fails the call that used it. The functions here are real ones of the host's own traits,
//! behind the imports of a real guest, and only those of the test panic.

use super::setup::{Job, Setup};
use runtime::engine::CallError;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// What the host calls for a guest, and how often the call of it panics.
const FUNCTIONS: [&str; 7] = ["tools", "find", "call", "ask", "chunk", "progress", "log"];
/// So few that the calls beside them never publish more often than a plugin may, 200 times in 10 s, however fast the machine
/// is.
const TIMES: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_host_fails_one_call_only() {
    let setup = Setup::new().await;
    setup.assert_works(&setup.parties).await;
    setup.assert_works(&setup.others).await;
    for function in FUNCTIONS {
        setup.parties.progress.panic_in(Some(function));
        for _ in 0..TIMES {
            setup.parties.progress.reset();
            setup.parties.progress.release_answer();
            let job = match function {
                "tools" => Job { plugin: "agent-calls", arguments: json!({"path": "[{\"list\": true}]"}) },
                _ => setup.everything(),
            };
            let unlucky = setup.call(&setup.parties, job, CancellationToken::new());
            let ((), ended) = futures::future::join(setup.assert_works(&setup.others), unlucky).await;
            assert!(matches!(ended.result, Err(CallError::Internal)), "{function}: {:?}", ended.result.map(|_| ()));
        }
        setup.parties.progress.panic_in(None);
        setup.assert_nothing_is_held(function).await;
        // No lock is poisoned, for the same client and the same plugin.
        setup.assert_works(&setup.parties).await;
    }
    let outcomes = setup.assert_all_are_recorded();
    let (internal, good) =
        (outcomes.iter().filter(|it| *it == "internal").count(), outcomes.iter().filter(|it| *it == "ok").count());
    println!(
        "hostile: panics: {internal} of {} calls failed, {good} others beside and after them went well",
        FUNCTIONS.len() * TIMES
    );
    assert_eq!((internal, internal + good), (FUNCTIONS.len() * TIMES, outcomes.len()), "{outcomes:?}");
}

/// A panic that ends the process would end all calls.
#[test]
fn no_build_ends_the_process_at_a_panic() {
    let manifest = std::fs::read_to_string(suite::paths::root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[profile.") && !manifest.contains("panic = \"abort\""));
}
