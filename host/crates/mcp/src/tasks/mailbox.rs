//! Requests to a task that another process serves, or that nobody serves at the moment: they are stored, and the process that
//! serves the task looks for them.

use crate::tasks::records::control::TaskRequest;
use crate::tasks::records::record::millis;
use crate::tasks::records::table::TaskId;
use crate::tasks::take_up::TakeUp;
use crate::tasks::tasks::{TaskError, Tasks};
use platform::clock::{Clock as _, SystemClock};
use platform::durable::{Durability, DurableError, DurableStore, Expected, Key, Record};
use platform::random::random_text;
use runtime::imports::MAX_UNREAD_MESSAGES;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often a process looks for requests, while it serves tasks.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// Bytes of the waiting requests to one task. Like their number, this bounds what a client stores that sends requests again and
/// again while nobody serves its task.
const MOST_BYTES: usize = 1 << 20;
/// How long a sender waits until its request is done. It may not be done in time, since a task may wait for its plugin.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// Requests that are read in one go.
pub(super) const PAGE: u32 = 200;
/// Requests that this process has stored. Orders those that it stores in the same millisecond.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Where requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The processes that serve tasks look here every second.
    Requests,
    /// Messages for a call that has to run again before it can read them. Nobody looks for them earlier, so they cost nothing.
    Messages,
}

impl Place {
    fn prefix(self) -> &'static str {
        match self {
            Self::Requests => "task-request",
            Self::Messages => "task-message",
        }
    }

    /// How many requests may wait for one task.
    fn most(self) -> usize {
        match self {
            Self::Requests => 64,
            // The number of unread messages that a running call may have.
            Self::Messages => MAX_UNREAD_MESSAGES,
        }
    }

    /// The prefix of the keys of a task's requests; none if no task can have this id.
    pub(super) fn of_task(self, id: &str) -> Option<Key> {
        Key::new(format!("{}/{id}", self.prefix())).ok()
    }
}

/// Stores a request for the process that serves the task.
pub(super) async fn leave(
    store: &dyn DurableStore,
    place: Place,
    id: &str,
    request: &TaskRequest,
) -> Result<Key, TaskError> {
    let failed = |error: &dyn std::fmt::Display| DurableError::Failed(error.to_string());
    let all = place.of_task(id).ok_or(TaskError::Unknown)?;
    // Text and answers can always be written.
    let value = serde_json::to_vec(request).unwrap_or_default();
    let waiting = waiting(store, place, id).await?;
    let bytes = value.len() + waiting.iter().map(|(_, record)| record.value.len()).sum::<usize>();
    if waiting.len() >= place.most() || bytes > MOST_BYTES {
        return Err(TaskError::TooMuch);
    }
    // The keys sort in the order of arrival, as far as the clocks of several processes agree.
    let (at, number) = (millis(SystemClock.unix()), COUNT.fetch_add(1, Ordering::Relaxed));
    let name = random_text::<12>().map_err(|error| failed(&error))?;
    let key = Key::new(format!("{all}/{at:016}-{number:08}-{name}")).map_err(|error| failed(&error))?;
    store.put(&key, value, Expected::Nothing, Durability::Process).await?;
    Ok(key)
}

/// The requests that wait for a task, in the order of their arrival.
pub(super) async fn waiting(
    store: &dyn DurableStore,
    place: Place,
    id: &str,
) -> Result<Vec<(Key, Record)>, DurableError> {
    let (mut after, mut all) = (None, Vec::new());
    let Some(prefix) = place.of_task(id) else { return Ok(all) };
    loop {
        // A page of large records has fewer of them, so only an empty page is the end.
        let page = store.list(&prefix, after.as_ref(), PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        after = Some(last.clone());
        all.extend(page);
    }
}

impl Tasks {
    /// Sends a request to a task that had not ended a moment ago.
    pub(super) async fn ask(self: &Arc<Self>, id: &str, request: TaskRequest) -> Result<(), TaskError> {
        if !self.running.lock().contains_key(id) {
            self.go_on(&id.into(), TakeUp::Now).await?;
        }
        let running = self.running.lock().get(id).cloned();
        // The sender gets its response only after the request is stored, so nothing is lost if this process is killed
        // meanwhile.
        let told = match running.and_then(|running| running.ask(request.clone())) {
            Some(asked) => tokio::time::timeout(PATIENCE, asked).await,
            None => Ok(false),
        };
        if told == Ok(true) || self.load(id).await?.is_none_or(|(task, _)| task.has_ended()) {
            return Ok(());
        }
        let key = leave(&*self.store, Place::Requests, id, &request).await?;
        self.go_on(&id.into(), TakeUp::Now).await?;
        let passed_on = self.pass_on(key, request);
        if told.is_ok()
            && let Ok(Some(passed_on)) = passed_on
        {
            // Waits a moment, so that the next reader of the task sees the effect, if the call can go on at once.
            let _ = tokio::time::timeout(PATIENCE, passed_on).await;
        }
        Ok(())
    }

    /// Passes on the stored requests to a task that is about to be served here, before any new ones. Requests that the task
    /// cannot take now are passed on later.
    pub(super) async fn take_requests_of(self: &Arc<Self>, id: &TaskId) -> Result<(), DurableError> {
        for (key, record) in waiting(&*self.store, Place::Requests, id).await? {
            if let Ok(request) = serde_json::from_slice(&record.value)
                && self.pass_on(key, request).is_err()
            {
                break;
            }
        }
        Ok(())
    }

    /// Passes on the stored requests to the tasks that run here.
    pub(super) async fn take_requests(self: &Arc<Self>) -> Result<(), DurableError> {
        let Ok(all) = Key::new(Place::Requests.prefix()) else { return Ok(()) };
        let (mut after, mut full) = (None, HashSet::new());
        loop {
            let page = self.store.list(&all, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (key, record) in page {
                let id = task_of(&key);
                // Later requests for this task wait, too, so that requests keep their order.
                if !full.contains(&id) && !self.take_request(&id, key, &record).await? {
                    full.insert(id);
                }
            }
        }
    }

    /// False if the task takes no more requests at the moment.
    async fn take_request(self: &Arc<Self>, id: &TaskId, key: Key, record: &Record) -> Result<bool, DurableError> {
        let Ok(request) = serde_json::from_slice::<TaskRequest>(&record.value) else {
            return self.forget(&key).await.map(|()| true);
        };
        if !self.running.lock().contains_key(id) {
            match self.load(id).await? {
                Some((task, _)) if !task.has_ended() => {
                    if task.waits_for(&request) {
                        // This also passes on the requests that wait.
                        self.go_on(id, TakeUp::Now).await?;
                    } else if task.suspended_until().is_some() {
                        // The request is a message to a call that does not wait for one.
                        match leave(&*self.store, Place::Messages, id, &request).await {
                            Err(TaskError::Store(error)) => return Err(error),
                            Err(error) => tracing::warn!(task = &**id, "a message to a task is lost: {error}"),
                            Ok(_) => {}
                        }
                        self.forget(&key).await?;
                    }
                    return Ok(true);
                }
                // The task is gone or has ended, so nobody will take the request.
                _ => return self.forget(&key).await.map(|()| true),
            }
        }
        Ok(self.pass_on(key, request).is_ok())
    }

    /// Passes a stored request on to the task, if that runs here, and removes the request once it is done. A process that is
    /// killed meanwhile leaves it to the next one, which does no harm: a request may be done twice. None if there is nothing to
    /// wait for; the error means that the task takes no more requests at the moment.
    fn pass_on(self: &Arc<Self>, key: Key, request: TaskRequest) -> Result<Option<JoinHandle<()>>, TooMuch> {
        let Some(running) = self.running.lock().get(&*task_of(&key)).cloned() else { return Ok(None) };
        if !self.asking.lock().insert(key.clone()) {
            return Ok(None);
        }
        let Some(taken) = running.ask(request) else {
            self.asking.lock().remove(&key);
            return Err(TooMuch);
        };
        let tasks = self.clone();
        Ok(Some(self.runners.spawn(async move {
            // If nobody serves the task any more, the request stays for the next process that does.
            if taken.await
                && let Err(error) = tasks.forget(&key).await
            {
                tracing::error!(%error, "what was asked of a task stays in the store, and is asked again");
            }
            tasks.asking.lock().remove(&key);
        })))
    }

    pub(super) async fn forget(&self, key: &Key) -> Result<(), DurableError> {
        self.store.remove(key, Expected::Any, Durability::Process).await
    }
}

/// A task takes no more requests at the moment.
struct TooMuch;

/// The id of the task that a stored request is for.
fn task_of(key: &Key) -> TaskId {
    key.as_str().split('/').nth(1).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::records::call::NotMade;
    use crate::tasks::tests::{Fixture, all_ended};
    use platform::durable::MemoryStore;
    use rmcp::model::InputResponses;
    use runtime::imports::SteeringMessage;

    async fn steer(store: &MemoryStore, id: &str, bytes: usize) -> Result<(), TaskError> {
        let message = SteeringMessage { text: "x".repeat(bytes), ..SteeringMessage::default() };
        leave(store, Place::Requests, id, &TaskRequest::Steer(message)).await.map(drop)
    }

    #[tokio::test]
    async fn requests_that_wait_are_bounded_in_number_and_in_bytes() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        for _ in 0..Place::Requests.most() {
            steer(&store, "many", 1).await.unwrap();
        }
        assert!(steer(&store, "many", 1).await.is_err());
        // Far fewer than may wait.
        let large = MOST_BYTES / 8;
        for _ in 0..7 {
            steer(&store, "large", large).await.unwrap();
        }
        assert!(steer(&store, "large", large).await.is_err());
        steer(&store, "large", large / 2).await.expect("there is room for a smaller one");
        steer(&store, "another", large).await.expect("each task has its own bounds");
    }

    /// Its client is answered all the same, also while it is served here.
    #[tokio::test]
    async fn what_is_asked_of_a_task_that_waits_for_its_plugin_is_kept() {
        let fixture = Arc::new(Fixture::new());
        let (second, id) = fixture.leave(Some(NotMade::NotYet("no plugin".into()))).await;
        let asked = || waiting(&*fixture.store, Place::Requests, &id);
        for expected in 1..=2 {
            let answered = second.ask(&id, TaskRequest::Answer(InputResponses::default()));
            tokio::time::timeout(PATIENCE * 10, answered).await.expect("its client hangs").unwrap();
            assert_eq!(asked().await.unwrap().len(), expected);
        }
        second.ask(&id, TaskRequest::Cancel).await.unwrap();
        all_ended(&second).await;
    }
}
