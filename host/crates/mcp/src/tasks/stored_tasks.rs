//! The tasks in a store as the operator sees them: all of them, whoever they belong to, while a server may serve them.

use super::control::{TaskRequest, TopUp};
use super::keys::{Part, all_records};
use super::mailbox;
use super::record::TaskRecord;
use super::tasks::parse;
use super::timeline::Timeline;
use platform::durable::{DurableError, DurableStore, Key};
use platform::random::random_text;
use runtime::imports::SteeringMessage;
use runtime::journal::JournalLog;
use serde_json::{Value, json};
use std::sync::Arc;

/// Records that are read at once.
const PAGE: u32 = 100;

/// All tasks of a store.
pub struct StoredTasks(Arc<dyn DurableStore>);

/// What an operator asks of a task.
pub enum OperatorRequest {
    Cancel,
    Steer(SteeringMessage),
    /// More fuel, in units.
    TopUp(u64),
}

/// One task, whoever it belongs to.
pub struct StoredTask {
    pub id: String,
    record: TaskRecord,
}

impl StoredTask {
    /// What `tasks/get` says, with the principal, the tool, the call and what it cost.
    pub fn to_json(&self) -> Value {
        let Self { id, record } = self;
        let mut document = serde_json::to_value(record.to_detailed(id)).unwrap_or_default();
        document["principal"] = record.principal.as_str().into();
        document["tool"] = record.tool.as_str().into();
        document["call"] = record.call.as_str().into();
        document["usage"] = json!(record.usage);
        document["suspended"] = record.suspended.is_some().into();
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

    /// As in the protocol.
    pub fn status(&self) -> &'static str {
        self.record.status_name()
    }

    pub fn message(&self) -> Option<&str> {
        self.record.shown_message()
    }

    pub fn has_ended(&self) -> bool {
        self.record.has_ended()
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

    /// What its call did and waited for. Empty if its steps are not stored.
    pub async fn timeline(&self, task: &StoredTask) -> Result<Timeline, DurableError> {
        let (Some(stored), Some(journal)) = (Part::Timeline.key(&task.id), Part::Journal.key(&task.id)) else {
            return Ok(Timeline::default());
        };
        match self.0.get(&stored).await?.filter(|_| task.has_ended()) {
            Some(record) => Ok(serde_json::from_slice(&record.value).unwrap_or_default()),
            None => Ok(Timeline::new(&JournalLog::read(&*self.0, &journal).await?.entries)),
        }
    }

    /// Asks something of a task that has not ended. Whoever serves it does it within a moment.
    pub async fn ask(&self, task: &StoredTask, request: OperatorRequest) -> Result<(), DurableError> {
        let request = match request {
            OperatorRequest::Cancel => TaskRequest::Cancel,
            OperatorRequest::Steer(message) => TaskRequest::Steer(message),
            OperatorRequest::TopUp(units) => {
                let request = random_text::<12>().map_err(|error| DurableError::Failed(error.to_string()))?;
                TaskRequest::TopUp(TopUp { request, units })
            }
        };
        mailbox::leave(&*self.0, &task.id, &request).await.map(drop)
    }
}
