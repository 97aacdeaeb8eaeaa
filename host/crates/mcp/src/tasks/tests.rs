//! Tasks over a store in memory, with a clock that stands still.

use super::record::{TaskRecord, TaskState};
use super::runner::{EndedCall, Finish};
use super::table::TaskId;
use super::tasks::{LEASE, TaskError, Tasks};
use super::{NewTask, NotCreated};
use crate::calls::live::{CallLife, ClientEnd, LiveCall};
use crate::calls::wait_permits::WaitPermits;
use crate::client::chunk_record::ChunkRecord;
use crate::client::stream::EventQueue;
use crate::client::view::RequestView;
use futures::FutureExt as _;
use platform::changes::ChangeNotifier;
use platform::clock::{Clock, SystemClock};
use platform::durable::{DurableStore, MemoryStore};
use platform::sync::Mutex;
use plugins::calls::FinishedCall;
use policy::{Overflow, ParkedCallLimits, PluginId, Principal, Side, TaskLimits};
use rmcp::model::JsonObject;
use runtime::engine::{CallError, HeldResources};
use runtime::imports::CallContext;
use serde_json::json;
use services::principal_store::PrincipalStore;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

struct TestClock {
    start: Instant,
    passed: Mutex<Duration>,
}

impl TestClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { start: SystemClock.now(), passed: Mutex::default() })
    }

    fn pass(&self, time: Duration) {
        *self.passed.lock() += time;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        self.start + *self.passed.lock()
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000_000) + *self.passed.lock()
    }
}

struct Fixture {
    clock: Arc<TestClock>,
    store: Arc<dyn DurableStore>,
    alice: Principal,
}

impl Fixture {
    fn new() -> Self {
        let clock = TestClock::new();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { clock, store, alice: Principal::from_source("key", "alice") }
    }

    /// The tasks of a process over the store.
    fn process(&self) -> Arc<Tasks> {
        let limits = TaskLimits { kept: 9, per_principal: 2, ..TaskLimits::default() };
        let permits = Arc::new(WaitPermits::new(ParkedCallLimits::default()));
        Tasks::new(self.store.clone(), limits, self.clock.clone(), ChangeNotifier::new(), permits).unwrap()
    }

    fn new_task(&self) -> NewTask {
        let (principal, call) = (self.alice.clone(), "c".into());
        let (version, arguments) = ("v".into(), "{}".into());
        NewTask { principal, tool: "a__b".into(), version, arguments, call, correlation: None }
    }

    /// A task whose call runs until it is cancelled, or until `end` is.
    async fn begin(&self, tasks: &Arc<Tasks>, end: &CancellationToken) -> TaskId {
        let created = tasks.clone().create(self.new_task()).await.unwrap();
        created.start(self.live(end.clone()), finish()).unwrap().0
    }

    fn live(&self, end: CancellationToken) -> LiveCall {
        let principal_store = Arc::new(PrincipalStore::new(self.clock.clone(), ChangeNotifier::new()));
        let plugin = PluginId { side: Side::Server, name: "a".into() };
        let record = ChunkRecord::new(principal_store, &CallContext::new("local"), plugin, "a__b".into());
        let (queue, stream) = EventQueue::new(Overflow::Block, record);
        let (cancel, view) = (CancellationToken::new(), Arc::new(RequestView::default()));
        let cancelled = cancel.clone();
        let call = async move {
            let _queue = queue;
            let error = tokio::select! {
                () = cancelled.cancelled() => CallError::Cancelled,
                () = end.cancelled() => CallError::Internal,
            };
            FinishedCall::not_started(Err(error))
        };
        LiveCall::new(
            call.boxed(),
            ClientEnd { stream, view, cancel, held: HeldResources::default(), life: CallLife::default() },
        )
    }

    async fn state(&self, tasks: &Arc<Tasks>, id: &str) -> TaskRecord {
        tasks.get(&self.alice, id).await.unwrap()
    }

    async fn is_gone(&self, tasks: &Arc<Tasks>, id: &str) -> bool {
        matches!(tasks.get(&self.alice, id).await, Err(TaskError::Unknown))
    }
}

fn finish() -> Finish {
    Box::new(|call, _| {
        let code = call.result.err().map(|error| error.code());
        let answer = Ok(JsonObject::from_iter([("code".to_owned(), json!(code))]));
        async { EndedCall { answer, usage: None } }.boxed()
    })
}

/// Waits until no task runs in this process any more.
async fn all_ended(tasks: &Arc<Tasks>) {
    while tasks.open_count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_exists_before_its_client_knows_it_and_ends_once() {
    let fixture = Fixture::new();
    let (tasks, end) = (fixture.process(), CancellationToken::new());
    let id = fixture.begin(&tasks, &end).await;
    assert_eq!(fixture.state(&tasks, &id).await.state, TaskState::Working);
    let bob = Principal::from_source("key", "bob");
    assert!(matches!(tasks.get(&bob, &id).await, Err(TaskError::Unknown)));
    assert!(matches!(tasks.cancel(&bob, &id).await, Err(TaskError::Unknown)));
    end.cancel();
    all_ended(&tasks).await;
    let ended = fixture.state(&tasks, &id).await;
    assert!(matches!(&ended.state, TaskState::Completed { result } if result["code"] == "internal"), "{ended:?}");
    tasks.cancel(&fixture.alice, &id).await.unwrap();
    assert_eq!(fixture.state(&tasks, &id).await, ended);
}

#[tokio::test]
async fn a_created_task_that_nobody_begins_is_removed() {
    let fixture = Fixture::new();
    let tasks = fixture.process();
    for _ in 0..5 {
        drop(tasks.clone().create(fixture.new_task()).await.unwrap());
    }
    let end = CancellationToken::new();
    let _two = (fixture.begin(&tasks, &end).await, fixture.begin(&tasks, &end).await);
    assert!(matches!(tasks.clone().create(fixture.new_task()).await, Err(NotCreated::Full)), "her part of the tasks");
}

#[tokio::test]
async fn ended_tasks_are_removed_in_time_and_those_that_take_too_long_end() {
    let fixture = Fixture::new();
    let (tasks, end) = (fixture.process(), CancellationToken::new());
    let id = fixture.begin(&tasks, &end).await;
    end.cancel();
    all_ended(&tasks).await;
    let keep = tasks.limits().keep;
    fixture.clock.pass(keep - Duration::from_millis(1));
    tasks.sweep();
    assert!(!fixture.is_gone(&tasks, &id).await);
    fixture.clock.pass(Duration::from_millis(1));
    assert!(fixture.is_gone(&tasks, &id).await, "it is gone whether or not it was swept");
    tasks.sweep();
    assert!(tasks.load(&id).await.unwrap().is_none());

    let id = fixture.begin(&tasks, &CancellationToken::new()).await;
    fixture.clock.pass(tasks.limits().run);
    tasks.sweep();
    all_ended(&tasks).await;
    let ended = fixture.state(&tasks, &id).await;
    assert!(matches!(&ended.state, TaskState::Failed { error } if error["code"] == -32603), "{ended:?}");
    assert!(ended.message.unwrap().contains("server.tasks.run"));
}

#[tokio::test]
async fn what_a_process_left_behind_ends_and_what_another_one_serves_does_not() {
    let fixture = Fixture::new();
    let (first, end) = (fixture.process(), CancellationToken::new());
    let (open, ended) = (fixture.begin(&first, &CancellationToken::new()).await, fixture.begin(&first, &end).await);
    end.cancel();
    while !fixture.state(&first, &ended).await.has_ended() {
        tokio::task::yield_now().await;
    }
    let second = fixture.process();
    assert_eq!(second.take_up().await.unwrap(), 1, "somebody serves it");
    assert_eq!(fixture.state(&second, &open).await.state, TaskState::Working);
    assert!(fixture.state(&second, &ended).await.has_ended());
    // The first process does not renew its lease: it is gone.
    fixture.clock.pass(LEASE);
    assert_eq!(second.take_up().await.unwrap(), 0);
    let lost = fixture.state(&second, &open).await;
    assert!(
        matches!(&lost.state, TaskState::Failed { error } if error["message"].as_str().unwrap().contains("restarted"))
    );
    fixture.clock.pass(second.limits().keep);
    second.sweep();
    assert!(second.load(&open).await.unwrap().is_none() && second.load(&ended).await.unwrap().is_none());
}

#[tokio::test]
async fn a_process_that_stops_says_so_of_its_tasks() {
    let fixture = Fixture::new();
    let tasks = fixture.process();
    let id = fixture.begin(&tasks, &CancellationToken::new()).await;
    tasks.close().await;
    let ended = fixture.state(&fixture.process(), &id).await;
    assert_eq!((&ended.state, tasks.open_count()), (&TaskState::Cancelled, 0));
    assert!(ended.message.unwrap().contains("stopped"));
}
