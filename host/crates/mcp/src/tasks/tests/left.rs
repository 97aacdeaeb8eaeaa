//! Tasks whose process is paused for a while, or ends while others live, and clocks that are set.

use crate::tasks::records::call::NotMade;
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::{Suspended, TaskState};
use crate::tasks::records::table::TaskId;
use crate::tasks::tasks::{LEASE, RENEW, Tasks};
use crate::tasks::tests::{Fixture, Maker, all_ended};
use crate::tasks::upkeep::Agenda;
use crate::upkeep::Upkeep as _;
use platform::clock::Clock as _;
use platform::durable::{Durability, Expected, Fence, Key};
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// A process and its regular work.
struct Process(Arc<Tasks>, Agenda);

impl Process {
    /// The calls of the process end at once, or wait for their plugin.
    async fn start(fixture: &Arc<Fixture>, waits: bool) -> Self {
        let tasks = fixture.process();
        let waits = waits.then(|| NotMade::NotYet("its plugin is not there".into()));
        tasks.resume_with(Arc::new(Maker(waits, fixture.clone())));
        let mut process = Self(tasks, Agenda::new(fixture.clock.now()));
        process.upkeep().await;
        process
    }

    async fn upkeep(&mut self) {
        self.0.do_what_is_due(&mut self.1).await;
    }

    fn fence(&self, id: &TaskId) -> Fence {
        self.0.running.lock().get(id).unwrap().lease.fence
    }

    fn serves(&self, id: &TaskId) -> bool {
        self.0.running.lock().contains_key(id)
    }
}

#[tokio::test]
async fn a_process_that_was_stopped_goes_on_with_its_tasks() {
    let fixture = Arc::new(Fixture::new());
    let mut first = Process::start(&fixture, false).await;
    let id = fixture.begin_replayable(&first.0).await;
    let before = first.fence(&id);
    fixture.clock.pass(LEASE * 100);
    first.upkeep().await;
    assert!(first.serves(&id) && first.fence(&id) == before, "nobody else has come");
    let mut second = Process::start(&fixture, false).await;
    second.upkeep().await;
    assert_eq!(second.0.open_count(), (0, 0), "it is the first one's again");
    assert_eq!(fixture.state(&second.0, &id).await.state, TaskState::Working);
}

#[tokio::test]
async fn a_process_that_has_lost_a_task_takes_it_up_again_when_its_new_owner_is_gone() {
    let fixture = Arc::new(Fixture::new());
    let (mut first, mut second) = (Process::start(&fixture, false).await, Process::start(&fixture, true).await);
    let id = fixture.begin_replayable(&first.0).await;
    // The first process is paused meanwhile.
    fixture.clock.pass(LEASE);
    second.upkeep().await;
    assert!(second.serves(&id));
    first.upkeep().await;
    all_ended(&first.0).await;
    assert_eq!(fixture.state(&first.0, &id).await.state, TaskState::Working);
    // Now the second process is paused.
    fixture.clock.pass(LEASE);
    first.upkeep().await;
    all_ended(&first.0).await;
    let ended = fixture.state(&first.0, &id).await;
    assert!(matches!(ended.state, TaskState::Completed { .. }), "{ended:?}");
}

#[tokio::test]
async fn what_begins_after_another_process_has_started_is_taken_up_by_that_one() {
    for is_killed in [true, false] {
        let fixture = Arc::new(Fixture::new());
        let (first, mut second) = (Process::start(&fixture, false).await, Process::start(&fixture, true).await);
        let id = fixture.begin_replayable(&first.0).await;
        if is_killed {
            fixture.clock.pass(LEASE);
        } else {
            // A process that stops in good order leaves it at once.
            first.0.close().await;
            fixture.clock.pass(RENEW);
        }
        second.upkeep().await;
        assert!(second.serves(&id), "killed: {is_killed}");
    }
}

/// Processes that share a folder need not have the same plugins.
#[tokio::test]
async fn a_task_whose_tool_is_not_there_is_left_to_whoever_has_it() {
    let fixture = Arc::new(Fixture::new());
    let mut without = Process::start(&fixture, true).await;
    let mut with = Process::start(&fixture, false).await;
    let gone = Process::start(&fixture, false).await;
    let id = fixture.begin_replayable(&gone.0).await;
    gone.0.close().await;
    for _ in 0..2 {
        fixture.clock.pass(RENEW);
        without.upkeep().await;
        assert!(without.serves(&id));
    }
    while fixture.store.expired(&Key::new("task").unwrap()).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    with.upkeep().await;
    all_ended(&with.0).await;
    let ended = fixture.state(&with.0, &id).await;
    assert!(matches!(ended.state, TaskState::Completed { .. }), "{ended:?}");
    // The other process notices this when it tries again.
    all_ended(&without.0).await;
}

#[tokio::test]
async fn what_is_looked_at_once_is_known() {
    let fixture = Arc::new(Fixture::new());
    let (first, mut second) = (Process::start(&fixture, false).await, Process::start(&fixture, true).await);
    let id = fixture.begin_replayable(&first.0).await;
    first.0.close().await;
    // The record says that the task is suspended.
    let (mut task, record) = first.0.load(&id).await.unwrap().unwrap();
    task.suspended = Some(Suspended { until: None, for_message: false });
    let key = Part::Record.key(&id).unwrap();
    let expected = Expected::At(record.revision);
    fixture.store.put(&key, task.to_bytes(), expected, Durability::Process).await.unwrap();
    for _ in 0..3 {
        fixture.clock.pass(RENEW);
        second.upkeep().await;
        assert_eq!(second.0.open_count(), (0, 1), "it knows of it, and does not serve it");
    }
    // The time of the task is over.
    fixture.clock.pass(second.0.limits().run);
    second.upkeep().await;
    while !fixture.state(&second.0, &id).await.has_ended() {
        tokio::task::yield_now().await;
        second.upkeep().await;
    }
}

#[tokio::test]
async fn a_clock_that_is_set_ends_no_task() {
    for forward in [true, false] {
        let fixture = Arc::new(Fixture::new());
        let mut first = Process::start(&fixture, false).await;
        let id = fixture.begin_replayable(&first.0).await;
        let created = fixture.state(&first.0, &id).await.created;
        let wall = fixture.clock.unix();
        fixture.clock.set_wall(if forward { wall + DAY * 2 } else { wall - DAY * 2 });
        fixture.clock.pass(RENEW);
        first.upkeep().await;
        assert!(first.serves(&id));
        let before = fixture.state(&first.0, &id).await;
        assert_eq!((&before.state, before.created), (&TaskState::Working, created));
        // A process that starts now uses the changed clock.
        let mut second = Process::start(&fixture, true).await;
        let seen = fixture.state(&second.0, &id).await;
        assert_eq!(seen.expires() - second.0.now(), before.expires() - first.0.now(), "it has as long to go");
        fixture.clock.pass(LEASE);
        second.upkeep().await;
        second.upkeep().await;
        assert!(second.serves(&id), "forward: {forward}");
        assert_eq!(fixture.state(&second.0, &id).await.state, TaskState::Working);
        fixture.clock.pass(second.0.limits().run);
        second.upkeep().await;
        all_ended(&second.0).await;
        let ended = fixture.state(&second.0, &id).await;
        assert!(ended.message.as_ref().unwrap().contains("server.tasks.run"), "{ended:?}");
    }
}
