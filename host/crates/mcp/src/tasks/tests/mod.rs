//! Tests of tasks over a store in memory, with a clock that stands still.

mod calls;
mod durability;
mod left;
mod take_up;
mod watched_store;

use crate::calls::live::{CallLife, ClientEnd, LiveCall};
use crate::calls::wait_permits::WaitPermits;
use crate::client::chunk_record::ChunkRecord;
use crate::client::stream::EventQueue;
use crate::client::view::RequestView;
use crate::tasks::records::control::StopReason;
use crate::tasks::records::record::{TaskRecord, TaskState};
use crate::tasks::records::table::TaskId;
use crate::tasks::tasks::{LEASE, TaskError, TaskStore, Tasks};
use crate::tasks::{CallMaker, EarlierRun, EndedCall, Finish, MadeCall, NewTask, NotCreated, NotMade, TaskCall};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use platform::changes::ChangeNotifier;
use platform::clock::ManualClock;
use platform::durable::{DurableStore, MemoryStore};
use platform::files::ProcessSlot;
use plugins::calls::FinishedCall;
use policy::{Overflow, ParkedCallLimits, PluginId, Principal, Side, TaskLimits};
use rmcp::model::JsonObject;
use runtime::engine::{CallError, HeldResources};
use runtime::imports::{Abilities, CallContext, SteeringMessage};
use runtime::journal::CallJournal;
use serde_json::json;
use services::principal_store::PrincipalStore;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(in crate::tasks) struct Fixture {
    pub(in crate::tasks) clock: Arc<ManualClock>,
    pub(in crate::tasks) store: Arc<dyn DurableStore>,
    folder: TempDir,
    alice: Principal,
}

impl Fixture {
    pub(in crate::tasks) fn new() -> Self {
        let clock = ManualClock::new();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { clock, store, folder: tempfile::tempdir().unwrap(), alice: Principal::from_source("key", "alice") }
    }

    /// A new process over the store.
    pub(in crate::tasks) fn process(&self) -> Arc<Tasks> {
        let limits = TaskLimits { kept: 9, per_principal: 2, ..TaskLimits::default() };
        let permits = Arc::new(WaitPermits::new(ParkedCallLimits::default()));
        let process = Some(ProcessSlot::take(self.folder.path()).unwrap());
        let store = TaskStore { store: self.store.clone(), process };
        Tasks::new(store, limits, self.clock.clone(), ChangeNotifier::new(), permits)
    }

    pub(in crate::tasks) fn new_task(&self) -> NewTask {
        let (tool, version, arguments) = ("a__b".into(), "v".into(), "{}".into());
        let call = TaskCall {
            tool,
            version,
            arguments,
            abilities: Abilities::default(),
            declaration: None,
            shows_remedies: false,
            idempotency_key: None,
            survive: None,
        };
        NewTask { principal: self.alice.clone(), call, id: "c".into(), correlation: None, task: None }
    }

    /// Begins a task whose call runs until it is cancelled, or until `end` is cancelled.
    async fn begin(&self, tasks: &Arc<Tasks>, end: &CancellationToken) -> TaskId {
        let created = tasks.clone().create(self.new_task()).await.unwrap();
        created.start(self.live(end.clone(), CallJournal::default()), finish()).await.unwrap().0
    }

    /// Like [`Self::begin`], with a call that could go on in another process.
    pub(in crate::tasks) async fn begin_replayable(&self, tasks: &Arc<Tasks>) -> TaskId {
        let created = tasks.clone().create(self.new_task()).await.unwrap();
        let journal = CallJournal::in_memory(self.clock.clone());
        created.start(self.live(CancellationToken::new(), journal), finish()).await.unwrap().0
    }

    /// One process begins a task and leaves it. Returns another process, which makes calls with `maker`, and the task.
    pub(in crate::tasks) async fn leave(self: &Arc<Self>, maker: Option<NotMade>) -> (Arc<Tasks>, TaskId) {
        let first = self.process();
        let id = self.begin_replayable(&first).await;
        first.close().await;
        drop(first);
        let second = self.process();
        second.resume_with(Arc::new(Maker(maker, self.clone())));
        (second, id)
    }

    pub(in crate::tasks) fn live(&self, end: CancellationToken, journal: CallJournal) -> LiveCall {
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
            ClientEnd {
                stream,
                view,
                cancel,
                held: HeldResources::default(),
                fuel: None,
                steering: None,
                life: CallLife { journal, ..CallLife::default() },
            },
        )
    }

    pub(in crate::tasks) async fn state(&self, tasks: &Arc<Tasks>, id: &str) -> TaskRecord {
        tasks.get(&self.alice, id).await.unwrap()
    }

    async fn is_gone(&self, tasks: &Arc<Tasks>, id: &str) -> bool {
        matches!(tasks.get(&self.alice, id).await, Err(TaskError::Unknown))
    }
}

/// Makes calls that end at once, or refuses to make them for the given reason.
pub(in crate::tasks) struct Maker(pub(in crate::tasks) Option<NotMade>, pub(in crate::tasks) Arc<Fixture>);

impl CallMaker for Maker {
    fn record_end(&self, _: &TaskRecord) {}

    fn forget(&self, _: &TaskRecord) {}

    fn steer(&self, _: &TaskRecord, _: SteeringMessage) -> Result<(), String> {
        Ok(())
    }

    fn put_back(&self, _: &TaskRecord, _: SteeringMessage) -> Result<(), String> {
        Ok(())
    }

    fn output(&self, _: &Principal, _: &str, _: u64) -> Option<(u64, String)> {
        None
    }

    fn make(&self, EarlierRun { journal, .. }: EarlierRun) -> BoxFuture<'static, MadeCall> {
        let why = match &self.0 {
            Some(NotMade::Never(why)) => Some(NotMade::Never(why.clone())),
            Some(NotMade::NotYet(why)) => Some(NotMade::NotYet(why.clone())),
            None => None,
        };
        let end = CancellationToken::new();
        end.cancel();
        let live = self.1.live(end, journal);
        std::future::ready(why.map_or_else(|| Ok((live, finish())), Err)).boxed()
    }
}

pub(in crate::tasks) fn finish() -> Finish {
    Box::new(|call, _| {
        let code = call.result.err().map(|error| error.code());
        let answer = Ok(JsonObject::from_iter([("code".to_owned(), json!(code))]));
        async { EndedCall { answer, usage: None } }.boxed()
    })
}

/// Waits until no task runs in this process any more.
pub(in crate::tasks) async fn all_ended(tasks: &Arc<Tasks>) {
    while tasks.open_count() != (0, 0) {
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

/// Its own process also looks for tasks that were left behind, for instance when it has just started.
#[tokio::test]
async fn a_task_that_is_about_to_begin_is_not_taken_for_one_that_was_left_behind() {
    let fixture = Fixture::new();
    let tasks = fixture.process();
    let created = tasks.clone().create(fixture.new_task()).await.unwrap();
    tasks.take_up().await.unwrap();
    assert_eq!(tasks.open_count(), (0, 0));
    drop(created);
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
async fn what_a_process_left_behind_is_taken_up_once_nobody_serves_it() {
    let fixture = Arc::new(Fixture::new());
    let (first, end) = (fixture.process(), CancellationToken::new());
    let (open, ended) = (fixture.begin(&first, &CancellationToken::new()).await, fixture.begin(&first, &end).await);
    end.cancel();
    while !fixture.state(&first, &ended).await.has_ended() {
        tokio::task::yield_now().await;
    }
    let second = fixture.process();
    second.resume_with(Arc::new(Maker(None, fixture.clone())));
    second.take_up().await.unwrap();
    assert_eq!(second.open_count(), (0, 0), "somebody serves it");
    assert_eq!(fixture.state(&second, &open).await.state, TaskState::Working);
    assert!(fixture.state(&second, &ended).await.has_ended());
    // The first process does not renew its lease, so it counts as gone.
    fixture.clock.pass(LEASE);
    second.take_up().await.unwrap();
    all_ended(&second).await;
    let lost = fixture.state(&second, &open).await;
    assert!(matches!(lost.state, TaskState::Failed { .. }), "{lost:?}");
    assert!(lost.message.unwrap().contains("its steps were not stored"));
    fixture.clock.pass(second.limits().keep);
    second.sweep();
    assert!(second.load(&open).await.unwrap().is_none() && second.load(&ended).await.unwrap().is_none());
}

#[tokio::test]
async fn a_call_whose_steps_are_stored_goes_on_in_the_next_process() {
    let fixture = Arc::new(Fixture::new());
    let never = || Some(NotMade::Never("its plugin has changed meanwhile".into()));
    for (maker, ends) in [(None, "completed"), (never(), "plugin has changed")] {
        let first = fixture.process();
        let id = fixture.begin_replayable(&first).await;
        first.close().await;
        assert_eq!((fixture.state(&first, &id).await.state, first.open_count()), (TaskState::Working, (0, 0)));
        drop(first);
        // It has the place of the first process, and so the leases of that.
        let second = fixture.process();
        second.resume_with(Arc::new(Maker(maker, fixture.clone())));
        second.take_up().await.unwrap();
        all_ended(&second).await;
        let ended = fixture.state(&second, &id).await;
        assert!(serde_json::to_string(&ended).unwrap().contains(ends), "{ended:?}");
        second.close().await;
    }
}

#[tokio::test]
async fn a_task_whose_tool_is_not_there_waits_for_it_and_can_be_cancelled() {
    let fixture = Arc::new(Fixture::new());
    let (second, id) = fixture.leave(Some(NotMade::NotYet("its tool is not there".into()))).await;
    second.take_up().await.unwrap();
    while fixture.state(&second, &id).await.message.is_none() {
        tokio::task::yield_now().await;
    }
    second.cancel(&fixture.alice, &id).await.unwrap();
    all_ended(&second).await;
    assert_eq!(fixture.state(&second, &id).await.state, TaskState::Cancelled);
}

#[tokio::test]
async fn a_process_that_was_replaced_writes_nothing_more() {
    let fixture = Arc::new(Fixture::new());
    let (first, second) = (fixture.process(), fixture.process());
    let id = fixture.begin_replayable(&first).await;
    fixture.clock.pass(LEASE);
    second.resume_with(Arc::new(Maker(None, fixture.clone())));
    second.take_up().await.unwrap();
    all_ended(&second).await;
    let ended = fixture.state(&second, &id).await;
    // The first process does not know yet that it was replaced.
    first.running.lock().values().for_each(|running| running.stop(StopReason::Client));
    all_ended(&first).await;
    assert_eq!(fixture.state(&second, &id).await, ended);
}

#[tokio::test]
async fn a_result_waits_for_room_on_the_disk() {
    let mut fixture = Fixture::new();
    let disk = MemoryStore::new(fixture.clock.clone());
    fixture.store = Arc::new(disk.clone());
    let (tasks, end) = (fixture.process(), CancellationToken::new());
    let id = fixture.begin(&tasks, &end).await;
    disk.set_full(true);
    end.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(fixture.state(&tasks, &id).await.state, TaskState::Working);
    disk.set_full(false);
    all_ended(&tasks).await;
    let ended = fixture.state(&tasks, &id).await;
    assert!(matches!(&ended.state, TaskState::Completed { result } if result["code"] == "internal"), "{ended:?}");
}

#[tokio::test]
async fn a_process_that_stops_ends_what_cannot_go_on() {
    let fixture = Fixture::new();
    let tasks = fixture.process();
    let id = fixture.begin(&tasks, &CancellationToken::new()).await;
    tasks.close().await;
    let ended = fixture.state(&fixture.process(), &id).await;
    assert_eq!((&ended.state, tasks.open_count()), (&TaskState::Cancelled, (0, 0)));
    assert!(ended.message.unwrap().contains("stopped"));
}
