//! A task as its client sees it.

use crate::tasks::records::record::{TaskRecord, TaskState};
use crate::tasks::tasks::Tasks;
use rmcp::model::{DetailedTask, InputRequests, TaskPayload};
use serde_json::{Map, Value};

/// Whom a task is shown to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownTo {
    /// The client whose tools the task may call, and that runs them.
    ClientWithTools,
    /// Anybody else. To them, a task that waits only for such tools appears to be working.
    Others,
}

#[derive(Debug, PartialEq)]
pub(crate) struct ShownTask {
    pub(crate) task: DetailedTask,
    /// The calls of its client's tools that it waits for, by key. None for those who do not run them.
    pub(crate) calls: Option<Map<String, Value>>,
}

impl Tasks {
    pub(crate) fn show(&self, task: &TaskRecord, id: &str, to: ShownTo) -> ShownTask {
        task.show(id, to, self.now())
    }
}

impl TaskRecord {
    fn show(&self, id: &str, to: ShownTo, now: u64) -> ShownTask {
        let others = ShownTask { task: self.to_detailed(id), calls: None };
        if self.calls.is_empty() {
            return others;
        }
        let payload = match (to, &self.state) {
            (ShownTo::ClientWithTools, TaskState::Working) => {
                TaskPayload::InputRequired { input_requests: InputRequests::new() }
            }
            (ShownTo::ClientWithTools, TaskState::InputRequired { .. }) => others.task.payload,
            (
                ShownTo::ClientWithTools,
                TaskState::Completed { .. } | TaskState::Failed { .. } | TaskState::Cancelled,
            )
            | (ShownTo::Others, _) => return others,
        };
        let calls = Some(self.calls.to_fields(now));
        ShownTask { task: DetailedTask::new(self.to_task(id), payload), calls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::records::record::tests::record;
    use serde_json::json;
    use std::time::Duration;

    fn waiting() -> TaskRecord {
        let fields = |name: &str| json!({"name": name, "arguments": {}, "timeoutMs": 5_000});
        let call = |name: &str| json!({"fields": fields(name), "expires": 7_000});
        let calls = json!({"call-3": call("b.two"), "call-4": call("a.one"), "call-5": call("a.one")});
        TaskRecord { calls: serde_json::from_value(calls).unwrap(), message: Some("half".into()), ..record() }
    }

    fn status(shown: &ShownTask) -> (Value, Value) {
        let task = serde_json::to_value(&shown.task).unwrap();
        (task["status"].clone(), task["inputRequests"].clone())
    }

    #[test]
    fn calls_are_shown_to_who_runs_them_with_the_time_that_is_left() {
        let task = waiting();
        let shown = task.show("id", ShownTo::ClientWithTools, 3_000);
        assert_eq!(status(&shown), (json!("input_required"), json!({})));
        let calls = shown.calls.unwrap();
        assert_eq!(calls["call-3"], json!({"name": "b.two", "arguments": {}, "timeoutMs": 4_000}));
        assert_eq!(calls.len(), 3);
        let others = task.show("id", ShownTo::Others, 3_000);
        assert_eq!((status(&others), &others.calls), ((json!("working"), Value::Null), &None));
        let message = others.task.task.status_message.unwrap();
        assert!(message.starts_with("It waits for tools of its client: `a.one`, `b.two`."), "{message}");
    }

    #[test]
    fn questions_are_shown_beside_them_to_everybody() {
        let mut task = waiting();
        let requests = Map::from_iter([("q".to_owned(), json!({"method": "roots/list"}))]);
        task.change(TaskState::open(requests), None, 2_000, Duration::ZERO);
        for (to, calls) in [(ShownTo::ClientWithTools, Some(3)), (ShownTo::Others, None)] {
            let shown = task.show("id", to, 8_000);
            assert_eq!(status(&shown).0, "input_required");
            assert!(shown.task.task.status_message.as_ref().unwrap().contains("`a.one`"));
            assert_eq!(shown.calls.map(|calls| calls.len()), calls);
        }
    }

    #[test]
    fn nothing_is_called_for_a_task_that_has_ended() {
        let mut task = waiting();
        let stored = TaskRecord::from_bytes(&task.to_bytes()).unwrap();
        assert_eq!(stored.calls, task.calls, "another process shows the same");
        task.change(TaskState::Cancelled, None, 2_000, Duration::ZERO);
        let shown = task.show("id", ShownTo::ClientWithTools, 3_000);
        assert_eq!((status(&shown).0, shown.calls), (json!("cancelled"), None));
        assert!(!String::from_utf8(task.to_bytes()).unwrap().contains("call-3"));
    }
}
