//! A task as it is stored, and the states it goes through.

use crate::tasks::records::control::TaskRequest;
use crate::tasks::records::fuel::TaskFuel;
use crate::tasks::records::shown_calls::ShownCalls;
use humantime::format_rfc3339_millis;
use platform::clock::MachineTime;
use policy::Principal;
use rmcp::model::{DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// How often a client should ask for a task that has not ended.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The part of a stored task that changes. The call that it began with is stored beside it, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskRecord {
    pub(crate) principal: String,
    /// The name that the client called.
    pub(crate) tool: String,
    /// The id of the call, which steering messages and the log of its chunks refer to.
    pub(crate) call: String,
    pub(crate) correlation: Option<String>,
    /// Milliseconds since 1970, as all times here.
    pub(crate) created: u64,
    pub(crate) updated: u64,
    /// How long it is kept, counted from its creation.
    pub(crate) ttl: u64,
    pub(crate) message: Option<String>,
    pub(crate) state: TaskState,
    /// The fencing token of the process that serves it. Each process that takes the task up has a higher one.
    #[serde(default)]
    pub(in crate::tasks) owner: u64,
    #[serde(default)]
    pub(crate) fuel: TaskFuel,
    /// The calls of its client's tools that it waits for, in addition to what its state says.
    #[serde(default, skip_serializing_if = "ShownCalls::is_empty")]
    pub(in crate::tasks) calls: ShownCalls,
    /// Set while nobody serves it: until the time in there, or until a request for it arrives.
    #[serde(default)]
    pub(in crate::tasks) suspended: Option<Suspended>,
    /// The time of its last change, on the clock of the process that made it; none if an earlier version made it.
    #[serde(default)]
    pub(in crate::tasks) time: Option<MachineTime>,
    /// Milliseconds that were added to its times, so that they fit the clock of this process.
    #[serde(skip)]
    pub(in crate::tasks) moved: i64,
    /// What the call cost, once it has ended.
    pub(crate) usage: Option<Value>,
    /// Bytes of the record.
    #[serde(skip)]
    pub(crate) size: u64,
}

/// The call of a task waits, and its instance is dropped. When a request for the task arrives, the call runs again up to where
/// it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::tasks) struct Suspended {
    /// When it goes on by itself, because a question times out or there is fuel again. None if it does not, until the time of
    /// the task is over.
    pub(in crate::tasks) until: Option<u64>,
    /// A message to its call makes it go on, too.
    #[serde(default)]
    pub(in crate::tasks) for_message: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub(crate) enum TaskState {
    Working,
    /// The requests to its client that have no answer, by key.
    InputRequired {
        requests: Map<String, Value>,
    },
    /// The result of the tool, even if that result is an error of the tool.
    Completed {
        result: JsonObject,
    },
    /// An error of the protocol, instead of a result.
    Failed {
        error: JsonObject,
    },
    Cancelled,
}

impl TaskState {
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Failed { .. } | Self::Cancelled)
    }

    /// The state of a running task whose client is asked for `requests`.
    pub(in crate::tasks) fn open(requests: Map<String, Value>) -> Self {
        if requests.is_empty() { Self::Working } else { Self::InputRequired { requests } }
    }

    /// A failure of the host.
    pub(in crate::tasks) fn failed(message: &str) -> Self {
        let error = json!({ "code": rmcp::model::ErrorCode::INTERNAL_ERROR.0, "message": message });
        Self::Failed { error: error.as_object().cloned().unwrap_or_default() }
    }
}

impl TaskRecord {
    pub(crate) fn principal(&self) -> Principal {
        Principal::from_stored(&self.principal)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.has_ended()
    }

    /// When the task is removed, in milliseconds since 1970.
    pub(in crate::tasks) fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// Adjusts its times to the clock of this process: the wall clock may have been set between the starts of two processes.
    /// The time until which it waits for fuel stays, since that follows the calendar day.
    pub(in crate::tasks) fn date_by(&mut self, now: MachineTime) {
        let moved = self.time.map_or(0, |then| now.offset_from(then));
        let moving = |time: &mut u64| *time = time.saturating_add_signed(moved);
        [&mut self.created, &mut self.updated].into_iter().for_each(moving);
        self.suspended.iter_mut().filter_map(|suspended| suspended.until.as_mut()).for_each(moving);
        self.calls.expiries().for_each(moving);
        (self.moved, self.time) = (moved, Some(now));
    }

    /// When it goes on by itself or ends, if nobody serves it earlier. A call that waits for fuel does nothing until it gets
    /// some.
    pub(in crate::tasks) fn suspended_until(&self) -> Option<u64> {
        let until = match (self.suspended, &self.fuel.paused) {
            (Some(suspended), _) => suspended.until,
            (None, Some(paused)) => paused.until,
            (None, None) => return None,
        };
        Some(until.map_or(self.expires(), |until| until.min(self.expires())))
    }

    /// The requests to its client that have no answer, by key.
    pub(in crate::tasks) fn requests(&self) -> Map<String, Value> {
        match &self.state {
            TaskState::InputRequired { requests } => requests.clone(),
            TaskState::Working | TaskState::Completed { .. } | TaskState::Failed { .. } | TaskState::Cancelled => {
                Map::new()
            }
        }
    }

    /// Whether it waits for an answer under this key.
    pub(in crate::tasks) fn asks(&self, key: &str) -> bool {
        matches!(&self.state, TaskState::InputRequired { requests } if requests.contains_key(key))
    }

    /// Whether it waits for the outcome of a call under this key.
    pub(in crate::tasks) fn calls(&self, key: &str) -> bool {
        self.calls.has(key)
    }

    /// Whether this request makes a suspended task go on. A message does only if the call waits for one; otherwise the message
    /// is kept.
    pub(in crate::tasks) fn waits_for(&self, request: &TaskRequest) -> bool {
        match request {
            TaskRequest::Steer(_) => self.suspended.is_some_and(|suspended| suspended.for_message),
            TaskRequest::Answer(_) | TaskRequest::Outcomes(_) | TaskRequest::Cancel | TaskRequest::TopUp(_) => {
                self.suspended_until().is_some()
            }
        }
    }

    /// Changes the state. If the task has ended already, nothing changes, and false is returned. An ended task is kept for
    /// `keep`.
    pub(in crate::tasks) fn change(
        &mut self,
        state: TaskState,
        message: Option<String>,
        now: u64,
        keep: Duration,
    ) -> bool {
        if self.has_ended() {
            return false;
        }
        if state.has_ended() {
            self.ttl = now.saturating_sub(self.created).saturating_add(millis(keep));
            (self.suspended, self.fuel.paused) = (None, None);
            self.calls = ShownCalls::default();
        }
        (self.state, self.message, self.updated) = (state, message, now.max(self.created));
        true
    }

    pub(in crate::tasks) fn to_bytes(&self) -> Vec<u8> {
        // Maps with text as keys can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(in crate::tasks) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        Ok(Self { size: bytes.len() as u64, ..read })
    }

    /// The message about its state that is shown to its client.
    pub(in crate::tasks) fn shown_message(&self) -> Option<String> {
        let paused = self.fuel.paused.as_ref().map(|paused| paused.why.clone());
        paused.or_else(|| self.calls.message()).or_else(|| self.message.clone())
    }

    /// The name of its state in the protocol.
    pub(in crate::tasks) fn status_name(&self) -> &'static str {
        match self.state {
            TaskState::Working => "working",
            TaskState::InputRequired { .. } => "input_required",
            TaskState::Completed { .. } => "completed",
            TaskState::Failed { .. } => "failed",
            TaskState::Cancelled => "cancelled",
        }
    }

    /// The task as its client gets it when it is created.
    pub(crate) fn to_task(&self, id: &str) -> Task {
        let status = match self.state {
            TaskState::Working => TaskStatus::Working,
            TaskState::InputRequired { .. } => TaskStatus::InputRequired,
            TaskState::Completed { .. } => TaskStatus::Completed,
            TaskState::Failed { .. } => TaskStatus::Failed,
            TaskState::Cancelled => TaskStatus::Cancelled,
        };
        let mut task = Task::new(id, status, date(self.created), date(self.updated)).with_ttl_ms(self.ttl.max(1));
        task.poll_interval_ms = Some(millis(POLL_INTERVAL));
        task.status_message = self.shown_message();
        task
    }

    /// The task as its client gets it later.
    pub(crate) fn to_detailed(&self, id: &str) -> DetailedTask {
        let payload = match self.state.clone() {
            TaskState::Working => TaskPayload::Working,
            // These are the type's own shapes, so this does not fail.
            TaskState::InputRequired { requests } => TaskPayload::InputRequired {
                input_requests: serde_json::from_value(requests.into()).unwrap_or_default(),
            },
            TaskState::Completed { result } => TaskPayload::Completed { result },
            TaskState::Failed { error } => TaskPayload::Failed { error },
            TaskState::Cancelled => TaskPayload::Cancelled,
        };
        DetailedTask::new(self.to_task(id), payload)
    }
}

pub(in crate::tasks) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn date(millis: u64) -> String {
    format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}

#[cfg(test)]
pub(in crate::tasks) mod tests {
    use super::*;

    pub(in crate::tasks) fn record() -> TaskRecord {
        TaskRecord {
            principal: "key:alice".into(),
            tool: "a__b".into(),
            call: "c".into(),
            correlation: None,
            created: 1_000,
            updated: 1_000,
            ttl: 60_000,
            message: None,
            state: TaskState::Working,
            owner: 1,
            fuel: TaskFuel::default(),
            calls: ShownCalls::default(),
            suspended: None,
            time: None,
            moved: 0,
            usage: None,
            size: 0,
        }
    }

    #[test]
    fn an_end_is_final_and_moves_the_time_of_removal() {
        let keep = Duration::from_secs(5);
        let ends = [TaskState::Completed { result: JsonObject::new() }, TaskState::failed("x"), TaskState::Cancelled];
        for end in ends {
            let mut task = record();
            let asks = Map::from_iter([("k".to_owned(), Value::Null)]);
            assert!(task.change(TaskState::open(asks.clone()), Some("asks".into()), 2_000, keep));
            assert_eq!((task.expires(), task.updated), (61_000, 2_000));
            assert!(task.change(TaskState::open(Map::new()), None, 2_500, keep), "answered");
            assert_eq!(task.state, TaskState::Working);
            assert!(task.change(end.clone(), None, 3_000, keep));
            assert_eq!((task.expires(), task.ttl), (8_000, 7_000));
            let ended = task.clone();
            for later in [TaskState::Working, TaskState::Cancelled, TaskState::open(asks)] {
                assert!(!task.change(later, Some("later".into()), 4_000, keep));
            }
            assert_eq!(task, ended);
            let stored = task.to_bytes();
            assert_eq!(TaskRecord::from_bytes(&stored).unwrap(), TaskRecord { size: stored.len() as u64, ..task });
        }
    }

    #[test]
    fn the_wire_has_what_the_state_has() {
        let mut task = record();
        let shown = |task: &TaskRecord| serde_json::to_value(task.to_detailed("id")).unwrap();
        let expected = json!({
            "taskId": "id", "status": "working", "createdAt": "1970-01-01T00:00:01.000Z",
            "lastUpdatedAt": "1970-01-01T00:00:01.000Z", "ttlMs": 60_000, "pollIntervalMs": 1_000,
        });
        assert_eq!(shown(&task), expected);
        let question = json!({"method": "elicitation/create", "params": {
            "mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}});
        let asks = Map::from_iter([("k".to_owned(), question.clone())]);
        task.change(TaskState::open(asks), Some("asks".into()), 1_500, Duration::ZERO);
        let value = shown(&task);
        assert_eq!(
            (&value["status"], &value["inputRequests"]["k"]["method"]),
            (&json!("input_required"), &question["method"])
        );
        task.change(TaskState::failed("broken"), None, 2_000, Duration::ZERO);
        assert_eq!(shown(&task)["error"], json!({"code": -32603, "message": "broken"}));
    }
}
