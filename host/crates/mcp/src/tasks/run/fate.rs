//! Decides what becomes of tasks whose process does not serve them any more: those that an earlier process left behind, and
//! those that run when this process stops.
//!
//! A call whose steps are stored goes on: it runs again, and its journal brings it back to where it was. Any other call ended
//! with its process, and its task reports that.

use crate::calls::live::{CallLife, LiveCall};
use crate::tasks::records::asked::AskedQuestions;
use crate::tasks::records::call::{EarlierRun, Finish, NotMade, TaskCall};
use crate::tasks::records::control::StopReason;
use crate::tasks::records::keys::Part;
use crate::tasks::records::record::{TaskRecord, TaskState};
use crate::tasks::records::table::TaskId;
use crate::tasks::run::recorder::Recorder;
use crate::tasks::tasks::Tasks;
use crate::tasks::timeline::Timeline;
use platform::durable::{Durability, DurableError, DurableStore, Entries, Expected, Fence, Key, Revision, StoreAnswer};
use policy::Survive;
use runtime::journal::{BeforeCheckpoint, CallJournal, JournalLog, JournalRoom, RoomChange};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long tasks may take to end or to be left when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The final state of a task whose call cannot go on.
pub(in crate::tasks) fn lost(why: &str) -> (TaskState, Option<String>) {
    let text = format!("The host ended while the task ran, and its call could not go on: {why}.");
    (TaskState::failed(&text), Some(text))
}

/// The final state of a task that runs when the process stops, and that no other process can go on with.
pub(in crate::tasks) fn at_shutdown() -> (TaskState, Option<String>) {
    (TaskState::Cancelled, Some("The host was stopped while the task ran.".into()))
}

impl Tasks {
    /// Stores the steps of the call, if that is possible, so that another process could go on with it from now on.
    pub(in crate::tasks) async fn store_journal(
        self: &Arc<Self>,
        id: &TaskId,
        record: &TaskRecord,
        survive: Option<Survive>,
        life: &CallLife,
    ) {
        let (Some(durability), Some(key)) = (self.durability(survive), Part::Journal.key(id)) else { return };
        let log = self.journal_log((id, record), key, durability, 0);
        if let Err(error) = life.journal.store_in(log).await {
            tracing::error!(task = &**id, %error, "a task ends with its host, since its steps cannot be stored");
            life.journal.cannot_replay("its first steps could not be stored");
        }
    }

    /// The log of the journal of a task's call, which has `next` records.
    fn journal_log(
        self: &Arc<Self>,
        (id, record): (&TaskId, &TaskRecord),
        key: Key,
        durability: Durability,
        next: u64,
    ) -> JournalLog {
        let (fence, room) = (Fence(record.owner), self.journal_room(id));
        let before_checkpoint = Some(self.output_keeper(id, record));
        JournalLog { store: self.store.clone(), key, fence, durability, next, room, before_checkpoint }
    }

    /// Stores the output at each checkpoint, since a later run of the call does not repeat the steps before the checkpoint.
    fn output_keeper(self: &Arc<Self>, id: &TaskId, record: &TaskRecord) -> BeforeCheckpoint {
        let (tasks, id, owner, call) = (Arc::downgrade(self), id.clone(), record.principal(), record.call.clone());
        let known = AtomicU64::new(0);
        Arc::new(move || {
            let Some(tasks) = tasks.upgrade() else { return };
            let output = tasks.maker.get().and_then(|maker| maker.output(&owner, &call, known.load(Ordering::Relaxed)));
            if let Some((next, output)) = output
                && let Some(kept) = tasks.store_output(&id, output)
            {
                known.store(next, Ordering::Relaxed);
                // The store takes this request before that of the checkpoint, so there is no need to wait.
                drop(kept);
            }
        })
    }

    /// Counts a journal as a part of its task. Without that, tasks that do much would fill the store.
    fn journal_room(self: &Arc<Self>, id: &TaskId) -> JournalRoom {
        let (tasks, id) = (Arc::downgrade(self), id.clone());
        Arc::new(move |change| {
            let Some(tasks) = tasks.upgrade() else { return false };
            let mut table = tasks.table.lock();
            match change {
                RoomChange::Take(bytes) => table.grow_journal(&id, bytes, &tasks.limits),
                RoomChange::GiveBack(bytes) => {
                    table.shrink_journal(&id, bytes);
                    true
                }
            }
        })
    }

    /// Stores the output of a call that has ended or is suspended, if there is room for it. The store does this before what it
    /// is asked to do next.
    pub(in crate::tasks) fn keep_output(&self, id: &TaskId, record: &TaskRecord) -> Option<StoreAnswer<Revision>> {
        let (_, output) = self.maker.get()?.output(&record.principal(), &record.call, 0)?;
        self.store_output(id, output)
    }

    fn store_output(&self, id: &TaskId, output: String) -> Option<StoreAnswer<Revision>> {
        let key = Part::Output.key(id)?;
        let fits = self.count_part(id, Part::Output, output.len());
        fits.then(|| self.store.put(&key, output.into_bytes(), Expected::Any, Durability::Process))
    }

    /// Stores a summary of what the call did, once it has ended.
    pub(in crate::tasks) async fn keep_timeline(&self, id: &TaskId, record: &TaskRecord) {
        let Some(key) = Part::Timeline.key(id) else { return };
        let kept = async {
            let timeline = Timeline::read(&*self.store, id, record, self.now()).await?;
            // Numbers and names can always be written.
            let value = serde_json::to_vec(&timeline).unwrap_or_default();
            if !self.count_part(id, Part::Timeline, value.len()) {
                return Err(DurableError::Full("server.tasks.size has no room for it".into()));
            }
            self.store.put(&key, value, Expected::Any, Durability::Process).await
        };
        if let Err(error) = kept.await {
            tracing::warn!(task = &**id, %error, "what the call of a task did is not kept");
        }
    }

    /// Removes what is of no use once a task has ended.
    pub(in crate::tasks) fn forget_steps(&self, id: &TaskId) {
        if let (Some(journal), Some(asked)) = (Part::Journal.key(id), Part::Asked.key(id)) {
            // The store takes both requests now. If one of them fails, what stays is removed with the task.
            drop(self.store.remove_log(&journal));
            self.table.lock().forget_journal(id);
            drop(self.store.remove(&asked, Expected::Any, Durability::Process));
            self.count_part(id, Part::Asked, 0);
        }
    }

    /// Counts the size of a part of a task, which replaces the size counted for it before. False if there is no room for it.
    pub(in crate::tasks) fn count_part(&self, id: &TaskId, part: Part, bytes: usize) -> bool {
        self.table.lock().set_part(id, part, bytes as u64, &self.limits)
    }

    /// Leaves all running tasks to the next process, and ends those that it could not go on with.
    pub async fn close(&self) {
        for running in self.running.lock().values() {
            running.stop(StopReason::Shutdown);
        }
        self.runners.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.runners.wait()).await.is_err() {
            tracing::error!(
                "tasks do not end; the next start of the host goes on with them, or says that they were lost"
            );
        }
    }
}

/// Reads a journal, after making sure that earlier owners cannot add to it any more.
async fn take_over(
    store: &dyn DurableStore,
    journal: &Key,
    fence: Fence,
    durability: Durability,
) -> Result<Entries, DurableError> {
    let read = JournalLog::read(store, journal).await?;
    let mut end = read.next;
    while let Err(refused) = store.append(journal, fence, end, Vec::new(), durability).await {
        match refused {
            DurableError::Moved { next } => end = next,
            error => return Err(error),
        }
    }
    if end == read.next { Ok(read) } else { JournalLog::read(store, journal).await }
}

/// Makes the call of a stored task again, with its journal and what it has asked.
pub(in crate::tasks) async fn make_call(recorder: &Recorder) -> Result<(LiveCall, Finish, AskedQuestions), NotMade> {
    let Recorder { tasks, id, record, .. } = recorder;
    let never = |why: &str| NotMade::Never(why.to_owned());
    let not_yet = |error: DurableError| NotMade::NotYet(format!("what is stored of it cannot be read: {error}"));
    let keys = (Part::Journal.key(id), Part::Call.key(id), Part::Asked.key(id));
    let (Some(journal), Some(call), Some(asked)) = keys else { return Err(never("its id is no key")) };
    if !tasks.are_durable() {
        return Err(never("this host keeps nothing"));
    }
    let Some(maker) = tasks.maker.get() else { return Err(NotMade::NotYet("the host is starting".into())) };
    let call = tasks.store.get(&call).await.map_err(not_yet)?.ok_or_else(|| never("what it called is not stored"))?;
    let call: TaskCall = serde_json::from_slice(&call.value)
        .map_err(|error| NotMade::Never(format!("what it called cannot be read: {error}")))?;
    let Some(durability) = tasks.durability(call.survive) else { return Err(never("this host keeps nothing")) };
    let asked = tasks.store.get(&asked).await.map_err(not_yet)?;
    let asked = asked.map(|asked| AskedQuestions::from_bytes(&asked.value)).transpose();
    let asked = asked.map_err(|error| NotMade::Never(format!("what it asked cannot be read: {error}")))?;
    let output = tasks.output(id).await.map_err(not_yet)?;
    let Entries { entries: steps, next, .. } =
        take_over(&*tasks.store, &journal, Fence(record.owner), durability).await.map_err(not_yet)?;
    let bytes = steps.iter().map(|step| step.len() as u64).sum();
    // A journal that has grown to this size is counted even if other tasks have filled the store meanwhile.
    tasks.table.lock().forget_journal(id);
    let log = tasks.journal_log((id, record), journal, durability, next);
    let _ = (log.room)(RoomChange::Take(bytes));
    let journal = CallJournal::stored(tasks.clock.clone(), log, steps, Duration::ZERO);
    let journal = journal.map_err(|problem| NotMade::Never(problem.to_string()))?;
    let earlier = EarlierRun { record: record.clone(), call, journal, output };
    let (live, finish) = maker.make(earlier).await?;
    Ok((live, finish, asked.unwrap_or_default().moved_by(record.moved)))
}
