//! What the steps of a task survive, as its store is told.

use crate::tasks::tests::watched_store::WatchedStore;
use crate::tasks::tests::{Fixture, finish};
use platform::clock::SystemClock;
use platform::durable::Durability;
use policy::Survive;
use runtime::journal::CallJournal;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_plugin_may_have_its_steps_survive_more_or_less_than_others() {
    let said = [
        (None, Durability::Process),
        (Some(Survive::PowerLoss), Durability::Power),
        (Some(Survive::Crash), Durability::Process),
    ];
    for (survive, expected) in said {
        let store = Arc::new(WatchedStore::new(Arc::new(SystemClock)));
        let mut fixture = Fixture::new();
        fixture.store = store.clone();
        let mut new = fixture.new_task();
        new.call.survive = survive;
        let created = fixture.process().create(new).await.unwrap();
        let live = fixture.live(CancellationToken::new(), CallJournal::in_memory(Arc::new(SystemClock)));
        created.start(live, finish()).await.unwrap();
        assert_eq!(*store.strengths.lock(), [expected], "{survive:?}");
    }
}
