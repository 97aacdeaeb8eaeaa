//! Tasks that are taken up while other callers look at them.

use crate::tasks::NewTask;
use crate::tasks::records::record::TaskState;
use crate::tasks::take_up::{Starting, TakeUp};
use crate::tasks::tests::watched_store::WatchedStore;
use crate::tasks::tests::{Fixture, all_ended};
use futures::poll;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_task_whose_time_is_over_is_not_removed_while_it_is_taken_up() {
    let mut fixture = Fixture::new();
    fixture.store = Arc::new(WatchedStore::new(fixture.clock.clone()));
    let fixture = Arc::new(fixture);
    let (second, id) = fixture.leave(None).await;
    fixture.clock.pass(second.limits().run);
    {
        let mut taken_up = pin!(second.take_up());
        while poll!(&mut taken_up).is_pending() {
            second.sweep();
        }
    }
    second.sweep();
    timeout(PATIENCE, all_ended(&second)).await.expect("it was removed");
    let ended = fixture.state(&second, &id).await;
    assert!(matches!(ended.state, TaskState::Failed { .. }), "its client learns why: {ended:?}");
    assert!(ended.message.unwrap().contains("server.tasks.run"));
}

/// A caller that has to go on with a task waits for the callers that look at it, whatever these decide.
#[tokio::test]
async fn a_task_goes_on_also_if_somebody_looks_at_it_who_leaves_it() {
    let fixture = Arc::new(Fixture::new());
    let (second, id) = fixture.leave(None).await;
    let looks = Starting::new(&second, &id).unwrap();
    let mut goes_on = pin!(second.go_on(&id, TakeUp::Now));
    for _ in 0..10 {
        assert!(poll!(&mut goes_on).is_pending());
        tokio::task::yield_now().await;
    }
    drop(looks);
    timeout(PATIENCE, goes_on).await.expect("it is told").unwrap();
    assert!(second.running.lock().contains_key(&id));
}

#[tokio::test]
async fn nobody_waits_for_a_task_that_is_not_begun_after_all() {
    let fixture = Fixture::new();
    let tasks = fixture.process();
    let new = NewTask { task: Some("a-task-that-is-known".into()), ..fixture.new_task() };
    let id = "a-task-that-is-known".into();
    let created = tasks.clone().create(new).await.unwrap();
    let mut goes_on = pin!(tasks.go_on(&id, TakeUp::Now));
    for _ in 0..10 {
        assert!(poll!(&mut goes_on).is_pending());
        tokio::task::yield_now().await;
    }
    drop(created);
    timeout(PATIENCE, goes_on).await.expect("it is told").unwrap();
}
