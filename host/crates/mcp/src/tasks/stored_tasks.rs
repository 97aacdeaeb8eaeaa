//! The tasks in a store as the operator sees them: the tasks of all principals, also while a server serves them.

use crate::tasks::mailbox::{self, Place};
use crate::tasks::records::control::{TaskRequest, TopUp};
use crate::tasks::records::keys::{Part, all_records};
use crate::tasks::records::record::TaskRecord;
use crate::tasks::records::samples::{Sample, Samples};
use crate::tasks::tasks::{TaskError, parse};
use crate::tasks::timeline::Timeline;
use platform::durable::{DurableError, DurableStore, Key};
use platform::random::random_text;
use runtime::imports::SteeringMessage;
use serde_json::{Value, json};
use std::sync::Arc;

/// Records that are read in one go.
const PAGE: u32 = 100;

/// All tasks of a store.
pub struct StoredTasks(Arc<dyn DurableStore>);

/// A request of the operator to a task.
pub enum OperatorRequest {
    Cancel,
    Steer(SteeringMessage),
    /// More fuel, in units.
    TopUp(u64),
}

/// One task of any principal.
pub struct StoredTask {
    pub id: String,
    record: TaskRecord,
}

impl StoredTask {
    /// The content of `tasks/get`, with the principal, the tool, the call and its cost.
    pub fn to_json(&self) -> Value {
        let Self { id, record } = self;
        let mut document = serde_json::to_value(record.to_detailed(id)).unwrap_or_default();
        document["principal"] = record.principal.as_str().into();
        document["tool"] = record.tool.as_str().into();
        document["call"] = record.call.as_str().into();
        document["usage"] = json!(record.usage);
        document["suspended"] = self.is_suspended().into();
        let fuel = &record.fuel;
        document["fuel"] = json!({ "used": fuel.used, "limit": fuel.limit, "added": fuel.added });
        document
    }

    pub fn principal(&self) -> &str {
        &self.record.principal
    }

    pub fn tool(&self) -> &str {
        &self.record.tool
    }

    /// The status under its name in the protocol.
    pub fn status(&self) -> &'static str {
        self.record.status_name()
    }

    pub fn message(&self) -> Option<String> {
        self.record.shown_message()
    }

    pub fn has_ended(&self) -> bool {
        self.record.has_ended()
    }

    /// Whether nobody serves it at the moment.
    pub fn is_suspended(&self) -> bool {
        self.record.suspended.is_some()
    }

    /// Units of fuel, as stored with the last change of its state.
    pub fn fuel_used(&self) -> u64 {
        self.record.fuel.used
    }

    /// Milliseconds since 1970.
    pub fn created(&self) -> u64 {
        self.record.created
    }

    /// Milliseconds since 1970.
    pub fn updated(&self) -> u64 {
        self.record.updated
    }
}

impl StoredTasks {
    pub fn new(store: Arc<dyn DurableStore>) -> Self {
        Self(store)
    }

    /// All tasks, the oldest first.
    pub async fn list(&self) -> Result<Vec<StoredTask>, DurableError> {
        let (mut after, mut tasks): (Option<Key>, Vec<StoredTask>) = (None, Vec::new());
        let Some(prefix) = all_records() else { return Ok(tasks) };
        loop {
            let page = self.0.list(&prefix, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, record) in page {
                let Some((_, id)) = key.as_str().rsplit_once('/') else { continue };
                tasks.extend(parse(id, record).map(|(record, _)| StoredTask { id: id.to_owned(), record }));
            }
        }
        tasks.sort_by_key(StoredTask::created);
        Ok(tasks)
    }

    /// The task with this id.
    pub async fn get(&self, id: &str) -> Result<Option<StoredTask>, DurableError> {
        let Some(key) = Part::Record.key(id) else { return Ok(None) };
        let found = self.0.get(&key).await?.and_then(|record| parse(id, record));
        Ok(found.map(|(record, _)| StoredTask { id: id.to_owned(), record }))
    }

    /// What its call did and waited for until `now`, in milliseconds since 1970. Contains no steps if these are not stored.
    pub async fn timeline(&self, task: &StoredTask, now: u64) -> Result<Timeline, DurableError> {
        let Some(key) = Part::Timeline.key(&task.id) else { return Ok(Timeline::default()) };
        let until = if task.has_ended() { task.updated() } else { now.max(task.updated()) };
        let stored = self.0.get(&key).await?.filter(|_| task.has_ended());
        let timeline = match stored.and_then(|stored| serde_json::from_slice(&stored.value).ok()) {
            Some(timeline) => timeline,
            None => Timeline::read(&*self.0, &task.id, &task.record, until).await?,
        };
        Ok(Timeline { samples: self.samples(task).await?, ..timeline })
    }

    /// What its call has used so far, over time.
    pub async fn samples(&self, task: &StoredTask) -> Result<Vec<Sample>, DurableError> {
        let Some(key) = Part::Samples.key(&task.id) else { return Ok(Vec::new()) };
        let samples = self.0.get(&key).await?.and_then(|stored| Samples::from_bytes(&stored.value));
        Ok(samples.unwrap_or_default().into_vec())
    }

    /// Sends a request to a task that has not ended. The process that serves the task acts on it within a moment.
    pub async fn ask(&self, task: &StoredTask, request: OperatorRequest) -> Result<(), DurableError> {
        let request = match request {
            OperatorRequest::Cancel => TaskRequest::Cancel,
            OperatorRequest::Steer(message) => TaskRequest::Steer(message),
            OperatorRequest::TopUp(units) => {
                let request = random_text::<12>().map_err(|error| DurableError::Failed(error.to_string()))?;
                TaskRequest::TopUp(TopUp { request, units })
            }
        };
        match mailbox::leave(&*self.0, Place::Requests, &task.id, &request).await {
            Ok(_) => Ok(()),
            Err(TaskError::Store(error)) => Err(error),
            Err(error) => Err(DurableError::Failed(error.to_string())),
        }
    }
}
