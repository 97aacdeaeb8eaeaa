//! Abuse of reverse calls: all cases run in sequence on one server, each with its exact expected outcome. At the end
//! nothing may be leaked. `cargo test -p suite --test suite -- abuse --nocapture` shows the table.

mod agents;
mod chains;
mod continuations;
mod declarations;
mod fixture;
mod floods;
mod leaving;
mod live;
mod outcomes;
mod secrets;

use fixture::{Fixture, PARKED, Who, decent, good, one};
use std::time::{Duration, Instant};

struct Case {
    what: &'static str,
    /// The exact expected outcome.
    outcome: &'static str,
    run: fn(&Fixture) -> String,
}

/// The time limit of one case on a busy machine; a deadlock takes longer.
const BOUND: Duration = Duration::from_secs(60);

#[test]
#[allow(clippy::print_stdout, reason = "the table is for whoever wants to see it")]
fn every_abuse_has_its_expected_outcome() {
    let groups = [
        ("what is declared", declarations::CASES),
        ("continuations", continuations::CASES),
        ("outcomes", outcomes::CASES),
        ("chains of calls", chains::CASES),
        ("floods", floods::CASES),
        ("private results", secrets::CASES),
        ("tools of the agent's side", agents::CASES),
        ("channels and steering", live::CASES),
        ("going away", leaving::CASES),
    ];
    let fixture = Fixture::new();
    // A first call allocates what the server keeps permanently.
    fixture.run("calls", one("echo.run"), &decent());
    let before = fixture.server().memory();
    let (mut number, mut wrong, mut table) = (0, vec![], String::new());
    for (group, cases) in groups {
        table += &format!("\n{group}\n");
        for Case { what, outcome, run } in cases {
            number += 1;
            let began = Instant::now();
            // A panic in one case must not hide the others.
            let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&fixture)));
            let seen = seen.unwrap_or_else(|_| "panicked".to_owned());
            let took = began.elapsed();
            let right = seen == *outcome && took < BOUND;
            let mark = if right { "ok" } else { "WRONG" };
            table += &format!("{number:3}  {what:<62} {seen:<34} {:>6} ms  {mark}\n", took.as_millis());
            if !right {
                wrong.push(format!("{number}: {what}: {seen:?} instead of {outcome:?}, after {took:?}"));
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n{table}\n{}", wrong.join("\n"), fixture.server().log());
    assert!(number >= 40, "{number} cases");
    nothing_is_left(&fixture, before);
    println!("hostile: reverse: {} of {number} abuses of reverse calls as expected", number - wrong.len());
}

/// Checks that no call runs or is parked, all slots are free, memory was released, and the server works.
fn nothing_is_left(fixture: &Fixture, before: u64) {
    fixture.until_idle();
    // A leaked slot would evict the oldest of these calls.
    let parked: Vec<_> = (0..PARKED).map(|_| fixture.run("calls", one("tools.get"), &decent())).collect();
    for round in parked {
        assert_eq!(round.answer(good()).outcome(), "ok");
    }
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..32).map(|_| scope.spawn(|| fixture.run("calls", one("echo.run"), &decent()).outcome())).collect();
        for call in calls {
            assert_eq!(call.join().unwrap(), "ok");
        }
    });
    fixture.until_idle();
    for who in [Who::Alice, Who::Bob] {
        live::opens(fixture, who);
    }
    let grown = fixture.server().memory().saturating_sub(before);
    assert!(grown < 96 << 20, "{} MiB more than before", grown >> 20);
    let log = fixture.server().log();
    assert!(!log.contains('\u{1b}') && !log.contains("thread 'tokio") && !log.contains("thread 'main"), "{log}");
}
