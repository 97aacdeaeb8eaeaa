//! Steps that find nothing: they cost few records, and a call that is killed anywhere goes on as if it had not been killed.

use super::entry::Entry;
use super::{CallJournal, JournalProblem, Repeat};
use futures::FutureExt as _;
use platform::clock::ManualClock;
use std::sync::Arc;
use std::time::Duration;

fn poll(journal: &CallJournal, found: Option<u64>) -> Option<u64> {
    journal.begin("look", &()).or_nothing(&None::<u64>).see(|| found)
}

fn steps(records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| Entry::decode(record).unwrap().path.to_string()).collect()
}

fn again(clock: &Arc<ManualClock>, journal: &CallJournal) -> CallJournal {
    CallJournal::resumed(clock.clone(), journal.export().unwrap(), Duration::ZERO).unwrap()
}

#[test]
fn finding_nothing_is_recorded_once_a_second() {
    let clock = ManualClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    for _ in 0..1_000 {
        poll(&journal, None);
        clock.pass(Duration::from_millis(5));
    }
    assert_eq!(journal.export().unwrap().len(), 4, "{:?}", steps(&journal.export().unwrap()));
    // A long wait is not made twice.
    let before = journal.export().unwrap().len();
    let wait = journal.begin("wait", &()).or_nothing(&());
    clock.pass(Duration::from_secs(1));
    wait.see(|| ());
    assert_eq!(journal.export().unwrap().len(), before + 1);
}

#[test]
fn it_is_remarked_how_long_steps_took_and_what_they_are_about() {
    let clock = ManualClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    let wait = |millis| {
        let step = journal.begin("wait", &()).or_nothing(&());
        clock.pass(Duration::from_millis(millis));
        step.see(|| ());
    };
    for millis in [300, 400, 500] {
        wait(millis);
    }
    wait(200);
    let step = journal.begin("ask", &());
    clock.pass(Duration::from_millis(70));
    step.see(|| 1u8);
    let step = journal.begin("call", &()).with(|| "ä".repeat(100));
    step.act(Repeat::Safe, async { 2u8 }).now_or_never().unwrap();
    journal.begin("look", &()).see(|| 3u8);
    let remarks: Vec<_> =
        journal.export().unwrap().iter().map(|record| Entry::decode(record).unwrap().remark).collect();
    let told: Vec<_> = remarks.iter().map(|it| (it.name.as_deref().map(str::len), it.took, it.polled)).collect();
    let expected = [(None, 500, 700), (None, 70, 200), (Some(128), 0, 0), (None, 0, 0), (None, 0, 0)];
    assert_eq!(told, expected, "what was not recorded is told with the next record");
}

#[test]
fn what_was_told_stays_told_and_what_came_of_nothing_is_asked_again() {
    let clock = ManualClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    let answers = [None, None, Some(3), None, None];
    for answer in answers {
        assert_eq!(poll(&journal, answer), answer);
    }
    assert_eq!(steps(&journal.export().unwrap()), ["3"]);
    let replayed = again(&clock, &journal);
    for (at, answer) in answers.into_iter().enumerate() {
        // No record depends on the last two answers, so they are asked for again.
        let told = if at < 3 { answer } else { Some(9) };
        assert_eq!((poll(&replayed, Some(9)), replayed.is_replaying()), (told, at < 3), "{at}");
    }
    assert_eq!(replayed.problem(), None);
}

#[test]
fn what_leaves_the_call_is_recorded_behind_what_it_depends_on() {
    let clock = ManualClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    for _ in 0..3 {
        poll(&journal, None);
    }
    let asked = journal.begin("ask", &()).ask(futures::future::pending::<u8>());
    assert!(asked.now_or_never().is_none(), "somebody sees the question now");
    assert_eq!(steps(&journal.export().unwrap()), ["3"]);
    let replayed = again(&clock, &journal);
    for _ in 0..3 {
        assert_eq!(poll(&replayed, Some(9)), None);
    }
    // What is answered at once needs no record but its own; a nested call has its own steps.
    let journal = CallJournal::in_memory(clock.clone());
    poll(&journal, None);
    journal.begin("see", &()).see(|| 1u8);
    poll(&journal, None);
    let call = journal.begin("call", &());
    let nested = journal.of_nested(&call);
    poll(&nested, None);
    nested.begin("see", &()).see(|| 1u8);
    assert_eq!(steps(&journal.export().unwrap()), ["2", "4.2"]);
    let replayed = again(&clock, &journal);
    assert_eq!((poll(&replayed, Some(9)), replayed.begin("see", &()).see(|| 2u8)), (None, 1));
    assert_eq!(poll(&replayed, Some(9)), None, "a step below a later one is recorded");
    let nested = replayed.of_nested(&replayed.begin("call", &()));
    assert!(nested.is_replaying());
    assert_eq!((poll(&nested, Some(9)), nested.is_replaying()), (None, true));
}

#[test]
fn another_step_in_the_place_of_one_that_found_nothing_ends_the_call() {
    let clock = ManualClock::new();
    for effect in [false, true] {
        let journal = CallJournal::in_memory(clock.clone());
        poll(&journal, None);
        journal.begin("see", &()).see(|| 1u8);
        let replayed = again(&clock, &journal);
        let step = replayed.begin("pay", &());
        match effect {
            true => assert_eq!(step.act(Repeat::Safe, async { panic!("it pays") }).now_or_never(), None::<()>),
            false => assert!(step.has_to_end()),
        }
        assert!(matches!(replayed.problem(), Some(JournalProblem::Diverged { .. })), "{:?}", replayed.problem());
    }
}
