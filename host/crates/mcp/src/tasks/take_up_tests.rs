//! Tasks that are taken up while others look at them.

use super::record::TaskState;
use super::tests::{Fixture, Maker, all_ended};
use super::watched_store::WatchedStore;
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
    let first = fixture.process();
    let id = fixture.begin_replayable(&first).await;
    first.close().await;
    fixture.clock.pass(first.limits().run);
    drop(first);
    let second = fixture.process();
    second.resume_with(Arc::new(Maker(None, fixture.clone())));
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
