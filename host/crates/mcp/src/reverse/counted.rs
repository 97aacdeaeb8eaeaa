//! The client's own limits on a request's reverse calls: counted over all its rounds, against what it declares now.

use super::declared::{Declared, DeclaredTool};
use runtime::imports::{AgentError, Budgeted, Exhaustion};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// The reverse calls of one request to its client.
#[derive(Default)]
pub(super) struct Counted {
    state: Mutex<State>,
    left: Notify,
}

#[derive(Default)]
struct State {
    calls: u64,
    by_tool: HashMap<String, u64>,
    running: u64,
}

/// A call is under way until this is dropped.
pub(super) struct Turn<'a>(&'a Counted);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
        self.0.left.notify_waiters();
    }
}

impl Counted {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call of this tool, if the client's limits let it be made.
    pub(super) fn count(&self, declared: &Declared, tool: &DeclaredTool, bytes: usize) -> Result<(), AgentError> {
        let exhausted = |budget, limit| Err(AgentError::Exhausted(Exhaustion { budget, limit }));
        if let Some(limit) = declared.limits.argument_bytes.filter(|limit| bytes as u64 > *limit) {
            return exhausted(Budgeted::Arguments, limit);
        }
        let mut state = self.state();
        if let Some(limit) = declared.limits.calls.filter(|limit| state.calls >= *limit) {
            return exhausted(Budgeted::Calls, limit);
        }
        // Only those that have a limit are remembered, of which there are at most as many as tools.
        if let Some(limit) = tool.calls {
            let calls = state.by_tool.entry(tool.tool.name.clone()).or_default();
            if *calls >= limit {
                return exhausted(Budgeted::Calls, limit);
            }
            *calls += 1;
        }
        state.calls += 1;
        Ok(())
    }

    /// How many were made.
    pub(super) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Waits until there are few enough under way.
    pub(super) async fn turn(&self, parallel: Option<u64>) -> Turn<'_> {
        loop {
            // Registered before looking, so that no end is missed.
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            {
                let mut state = self.state();
                if state.running < parallel.unwrap_or(u64::MAX) {
                    state.running += 1;
                    return Turn(self);
                }
            }
            left.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use serde_json::json;

    fn declared() -> Declared {
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "limits": {"calls": 1}});
        let limits = json!({"calls": 3, "parallel": 2, "argumentBytes": 10});
        let mut free = tool("free");
        free["limits"] = json!({});
        let value = json!({"allowServerCalls": true, "tools": [tool("once"), free], "limits": limits});
        Declared::read(&value, true).unwrap().unwrap()
    }

    #[test]
    fn calls_are_counted_in_all_and_by_tool() {
        let (declared, counted) = (declared(), Counted::default());
        let count = |name: &str, bytes| counted.count(&declared, declared.tool(name).unwrap(), bytes);
        let exhausted = |budget, limit| Err(AgentError::Exhausted(Exhaustion { budget, limit }));
        assert_eq!(count("free", 11), exhausted(Budgeted::Arguments, 10));
        assert_eq!(count("once", 10), Ok(()));
        assert_eq!(count("once", 10), exhausted(Budgeted::Calls, 1));
        assert_eq!((count("free", 0), count("free", 0)), (Ok(()), Ok(())));
        assert_eq!(count("free", 0), exhausted(Budgeted::Calls, 3));
        assert_eq!(counted.calls(), 3);
    }

    #[test]
    fn further_calls_wait_for_their_turn() {
        let counted = Counted::default();
        let turn = || counted.turn(Some(2));
        let first = turn().now_or_never().unwrap();
        let _second = turn().now_or_never().unwrap();
        let mut third = std::pin::pin!(turn());
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.now_or_never().is_some());
    }
}
