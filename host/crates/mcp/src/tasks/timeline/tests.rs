//! Timelines of journals.

use super::*;
use platform::clock::ManualClock;
use runtime::journal::{CallJournal, Repeat};
use std::time::Duration;

/// The number, depth, import, beginning and end of a step, and whether it waits.
type Shown<'a> = (&'a str, u32, &'a str, u64, Option<u64>, bool);

fn shown(timeline: &Timeline) -> Vec<Shown<'_>> {
    timeline.steps.iter().map(|it| (&*it.step, it.depth, &*it.import, it.begins, it.ends, it.waits)).collect()
}

#[tokio::test]
async fn steps_of_a_nested_call_are_below_the_step_that_made_it() {
    let clock = ManualClock::at(Duration::from_secs(1));
    let journal = CallJournal::in_memory(clock.clone());
    journal.begin("clocks.wall", &()).see(|| 1u8);
    for _ in 0..3 {
        journal.begin("state.get", &()).ask(async { clock.pass(Duration::from_millis(10)) }).await;
        journal.begin("random.bytes", &()).see(|| 0u8);
    }
    clock.pass(Duration::from_millis(70));
    let call = journal.begin("agent-tools.call", &());
    let nested = journal.of_nested(&call);
    call.act(Repeat::Safe, async {
        clock.pass(Duration::from_millis(5));
        nested.begin("http.handle", &()).act(Repeat::Safe, async { clock.pass(Duration::from_millis(100)) }).await;
        nested.begin("poll.block", &()).ask(async { clock.pass(Duration::from_millis(50)) }).await;
    })
    .await;
    let mut open = journal.begin("http.handle", &());
    open.before_effect(Repeat::Unsafe).await;
    let timeline = Timeline::new(&journal.export().unwrap(), 900, 2_000, &[]);
    let expected = [
        ("2", 0, "state.get", 1_000, Some(1_030), false),
        ("8", 0, "agent-tools.call", 1_100, Some(1_255), false),
        ("8.1", 1, "http.handle", 1_105, Some(1_205), true),
        ("8.2", 1, "poll.block", 1_205, Some(1_255), true),
        ("9", 0, "http.handle", 1_255, None, true),
    ];
    assert_eq!(shown(&timeline), expected);
    assert_eq!((timeline.steps[0].times, timeline.steps[0].took), (3, 30), "the same is one line");
    assert_eq!((timeline.begins, timeline.until, timeline.waited, timeline.more), (900, 2_000, 895, 0));
    let stored = serde_json::to_vec(&timeline).unwrap();
    assert_eq!(serde_json::from_slice::<Timeline>(&stored).unwrap(), timeline);
}

#[tokio::test]
async fn a_question_waits_from_when_it_was_asked_first_and_before_it_is_answered() {
    let clock = ManualClock::at(Duration::from_secs(1));
    let journal = CallJournal::in_memory(clock.clone());
    clock.pass(Duration::from_millis(500));
    // The question was asked an hour ago, and the call was suspended since.
    journal.begin("client.ask", &()).ask(async { clock.pass(Duration::from_millis(1)) }).await;
    let asking = |step, since, is_open| AskingStep { step, since, is_open };
    let asking = [asking("1", 1_100, false), asking("2", 1_600, true), asking("3", 1_700, false)];
    let timeline = Timeline::new(&journal.export().unwrap(), 1_000, 2_000, &asking);
    let expected = [("1", 0, "client.ask", 1_100, Some(1_501), true), ("2", 0, "client.ask", 1_600, None, true)];
    assert_eq!(shown(&timeline), expected, "what is neither answered nor open was asked before a checkpoint");
    assert_eq!((timeline.waited, timeline.steps[1].took), (801, 400));
}

#[tokio::test]
async fn waiting_in_small_pieces_is_known_although_few_are_recorded() {
    let clock = ManualClock::at(Duration::from_secs(1));
    let journal = CallJournal::in_memory(clock.clone());
    for _ in 0..300 {
        journal.begin("poll.block", &()).or_nothing(&()).see(|| clock.pass(Duration::from_millis(9)));
        journal.begin("steering.next", &()).or_nothing(&0u8).see(|| {
            clock.pass(Duration::from_millis(1));
            0u8
        });
    }
    journal.begin("http.handle", &()).with(|| "GET a".to_owned()).act(Repeat::Safe, async {}).await;
    let timeline = Timeline::new(&journal.export().unwrap(), 1_000, 4_000, &[]);
    let imports: Vec<_> = timeline.steps.iter().map(|it| &*it.import).collect();
    assert_eq!(imports, ["poll.block", "http.handle"], "{timeline:?}");
    let names: Vec<_> = timeline.steps.iter().map(|it| it.name.as_deref()).collect();
    assert_eq!(names, [None, Some("GET a")]);
    assert!((2_900..=3_000).contains(&timeline.waited), "{timeline:?}");
}

#[tokio::test]
async fn of_very_many_steps_the_first_and_the_last_are_kept() {
    let clock = ManualClock::at(Duration::from_secs(1));
    let journal = CallJournal::in_memory(clock.clone());
    let call = journal.begin("agent-tools.call", &()).with(|| "a.run".to_owned());
    let nested = journal.of_nested(&call);
    call.act(Repeat::Safe, async {
        for number in 0..2_000u64 {
            let import = if number % 2 == 0 { "state.get" } else { "publish.put-resource" };
            nested.begin(import, &()).ask(async { clock.pass(Duration::from_millis(1)) }).await;
        }
    })
    .await;
    let timeline = Timeline::new(&journal.export().unwrap(), 1_000, 9_000, &[]);
    let (listed, more_after) = (timeline.steps.len(), timeline.more_after as usize);
    assert_eq!((listed as u64 + timeline.more, more_after), (2_001, MOST / 2));
    assert!(listed <= MOST + 1, "{listed}");
    assert_eq!(timeline.steps[0].name.as_deref(), Some("a.run"));
    assert_eq!((&*timeline.steps[more_after].step, &*timeline.steps[listed - 1].step), ("1.1751", "1.2000"));
}
