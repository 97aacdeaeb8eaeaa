//! Waits and clocks over several runs.

use super::super::{CallJournal, JournalProblem};
use super::*;
use platform::clock::ManualClock;
use std::sync::Arc;

fn first_run() -> (Arc<ManualClock>, CallJournal) {
    let clock = ManualClock::at(Duration::from_millis(1_000_000));
    let journal = CallJournal::in_memory(clock.clone());
    (clock, journal)
}

fn again(clock: &Arc<ManualClock>, journal: &CallJournal) -> CallJournal {
    CallJournal::resumed(clock.clone(), journal.export().unwrap(), Duration::ZERO).unwrap()
}

#[test]
fn a_wait_goes_on_for_what_is_left_of_it_in_each_run() {
    let day = Duration::from_micros(86_400_000_500);
    let (clock, journal) = first_run();
    let wait = |journal: &CallJournal| journal.begin("wait", &()).left_of(day);
    assert_eq!(wait(&journal), day, "all of it, to the microsecond");
    let mut before = journal;
    for (now, left) in [
        (1_000_000, 86_400_002),
        (1_003_000, 86_397_002),
        (87_400_000, 2),
        (87_400_001, 1),
        (87_400_002, 0),
        (99_999_999, 0),
    ] {
        clock.set_wall(Duration::from_millis(now));
        before = again(&clock, &before);
        assert_eq!(wait(&before), Duration::from_millis(left).min(day), "at {now}");
    }
    clock.set_wall(Duration::from_millis(500));
    assert_eq!(wait(&again(&clock, &before)), day, "a clock that was set back makes it no longer");
    assert_eq!(CallJournal::default().begin("wait", &()).left_of(day), day, "without a journal");
}

#[test]
fn no_wait_ends_early_and_no_clock_falls_behind() {
    let micros = |clock: &ManualClock, at| clock.set_wall(Duration::from_micros(at));
    for (began, now) in [(999, 5_000), (0, 5_999), (1, 5_000), (500, 5_500)] {
        let (clock, journal) = first_run();
        micros(&clock, began);
        let wait = Duration::from_millis(8);
        assert_eq!(journal.begin("wait", &()).left_of(wait), wait);
        micros(&clock, now);
        let replayed = again(&clock, &journal);
        let waited = Duration::from_micros(now - began);
        assert!(replayed.begin("wait", &()).left_of(wait) + waited >= wait, "from {began} to {now}");
        let ago = again(&clock, &journal).begin("wait", &()).recorded_ago().unwrap();
        assert!(ago >= waited, "from {began} to {now}");
    }
}

#[test]
fn the_longest_wait_does_not_end() {
    let (clock, journal) = first_run();
    let wait = |journal: &CallJournal| journal.begin("wait", &()).left_of(Duration::MAX);
    assert_eq!(wait(&journal), Duration::MAX);
    assert!(wait(&again(&clock, &journal)) > Duration::from_hours(1_000_000));
}

#[test]
fn it_is_known_how_long_ago_a_step_was_recorded() {
    let (clock, journal) = first_run();
    let step = journal.begin("look", &());
    assert_eq!(step.recorded_ago(), None);
    step.see(|| 1u8);
    clock.set_wall(Duration::from_millis(1_007_000));
    let replayed = again(&clock, &journal);
    assert_eq!(replayed.begin("look", &()).recorded_ago(), Some(Duration::from_millis(7_001)));
    assert_eq!(replayed.begin("look", &()).recorded_ago(), None, "no run has come to the next step");
    clock.set_wall(Duration::from_millis(1_000));
    assert_eq!(again(&clock, &journal).begin("look", &()).recorded_ago(), Some(Duration::from_millis(1)));
}

#[test]
fn another_step_in_the_place_of_a_wait_ends_the_call() {
    let (clock, journal) = first_run();
    journal.begin("wait", &()).left_of(LONG);
    let replayed = again(&clock, &journal);
    replayed.begin("look", &()).see(|| 1u64);
    assert!(matches!(replayed.problem(), Some(JournalProblem::Diverged { .. })));
}
