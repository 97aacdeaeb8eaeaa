//! What is asked of a task that another process serves, or that nobody serves at the moment: it is stored, and whoever serves
//! the task looks for it.

use super::control::TaskRequest;
use super::tasks::{TaskError, Tasks};
use platform::durable::{DurableError, DurableStore, Expected, Key, Record, Strength};
use platform::random::random_text;
use std::sync::Arc;
use std::time::Duration;

/// How often a process looks for requests, while it serves tasks.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// Requests to one task that may wait. Bounds what a client stores that asks again and again while nobody serves its task.
const MOST: usize = 64;
/// Their bytes, for the same reason.
const MOST_BYTES: usize = 1 << 20;
/// Requests that are read at once.
const PAGE: u32 = 200;
const PREFIX: &str = "task-request";

/// Stores a request for whoever serves the task.
pub(super) async fn leave(store: &dyn DurableStore, id: &str, request: &TaskRequest) -> Result<(), DurableError> {
    let failed = |error: &dyn std::fmt::Display| DurableError::Failed(error.to_string());
    let all = Key::new(format!("{PREFIX}/{id}")).map_err(|error| failed(&error))?;
    // Text and answers can always be written.
    let value = serde_json::to_vec(request).unwrap_or_default();
    let (mut after, mut count, mut bytes) = (None, 0, value.len());
    loop {
        // A page has fewer records if they are large.
        let page = store.list(&all, after.as_ref(), PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        count += page.len();
        bytes += page.iter().map(|(_, record)| record.value.len()).sum::<usize>();
    }
    if count >= MOST || bytes > MOST_BYTES {
        return Err(failed(&"too many requests to this task wait for the process that serves it"));
    }
    let name = random_text::<12>().map_err(|error| failed(&error))?;
    let key = Key::new(format!("{all}/{name}")).map_err(|error| failed(&error))?;
    store.put(&key, value, Expected::Nothing, Strength::Process).await.map(drop)
}

impl Tasks {
    /// Asks something of a task that has not ended.
    pub(super) async fn ask(&self, id: &str, request: TaskRequest) -> Result<(), TaskError> {
        let running = self.running.lock().get(id).cloned();
        if let Some(running) = running {
            running.ask(request).await;
            return Ok(());
        }
        leave(&*self.store, id, &request).await?;
        // It may have been taken up meanwhile.
        self.wake.notify_one();
        Ok(())
    }

    /// Passes on what was asked of the tasks that run here.
    pub(super) async fn take_requests(self: &Arc<Self>) -> Result<(), DurableError> {
        let Ok(all) = Key::new(PREFIX) else { return Ok(()) };
        let mut after = None;
        loop {
            let page = self.store.list(&all, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (key, record) in page {
                self.take_request(key, &record).await?;
            }
        }
    }

    async fn take_request(self: &Arc<Self>, key: Key, record: &Record) -> Result<(), DurableError> {
        let id = key.as_str().split('/').nth(1).unwrap_or_default().to_owned();
        let running = self.running.lock().get(&*id).cloned();
        let request = serde_json::from_slice::<TaskRequest>(&record.value);
        match (running, request) {
            (Some(running), Ok(request)) => {
                if self.asking.lock().insert(key.clone()) {
                    let tasks = self.clone();
                    self.runners.spawn(async move {
                        match request {
                            TaskRequest::Steer(message) => tasks.steer(&id, message).await,
                            request => running.ask(request).await,
                        }
                        // Removed once it is done: a process that is killed meanwhile leaves it to the next, and to do it twice is
                        // as good as once.
                        if let Err(error) = tasks.store.remove(&key, Expected::Any, Strength::Process).await {
                            tracing::error!(%error, "what was asked of a task stays in the store, and is asked again");
                        }
                        tasks.asking.lock().remove(&key);
                    });
                }
            }
            (None, Ok(_)) if self.load(&id).await?.is_some_and(|(task, _)| !task.has_ended()) => {}
            // Nobody will.
            (_, _) => self.store.remove(&key, Expected::Any, Strength::Process).await?,
        }
        Ok(())
    }

    async fn steer(&self, id: &str, message: String) {
        if let (Some(maker), Ok(Some((task, _)))) = (self.maker.get(), self.load(id).await)
            && let Err(why) = maker.steer(&task, message)
        {
            tracing::warn!(task = id, "a message to a task is lost: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use platform::durable::MemoryStore;

    async fn steer(store: &MemoryStore, id: &str, bytes: usize) -> Result<(), DurableError> {
        leave(store, id, &TaskRequest::Steer("x".repeat(bytes))).await
    }

    #[tokio::test]
    async fn requests_that_wait_are_bounded_in_number_and_in_bytes() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        for _ in 0..MOST {
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
}
