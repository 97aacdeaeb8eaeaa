//! Enforces the client's own limits on reverse calls. A call is counted over all its rounds, and checked against the
//! declaration of the current one.

use crate::client_tools::{DeclaredTool, ToolDeclaration};
use platform::sync::Mutex;
use runtime::imports::{AgentError, BudgetKind, Exhaustion};
use std::collections::HashMap;
use std::sync::MutexGuard;
use tokio::sync::Notify;

/// Counts the calls of one request to the tools of its client.
#[derive(Default)]
pub(super) struct ReverseCallCounter {
    counts: Mutex<CallCounts>,
    call_ended: Notify,
}

#[derive(Default)]
struct CallCounts {
    total: u64,
    by_tool: HashMap<String, u64>,
    running: u64,
}

/// Counts a call as running until it is dropped.
pub(super) struct ReverseCallPermit<'a>(&'a ReverseCallCounter);

impl Drop for ReverseCallPermit<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.call_ended.notify_waiters();
    }
}

impl ReverseCallCounter {
    fn lock(&self) -> MutexGuard<'_, CallCounts> {
        self.counts.lock()
    }

    /// Counts a call if the client's limits allow it. `bytes` is the size of its arguments.
    pub(super) fn count(
        &self,
        declaration: &ToolDeclaration,
        tool: &DeclaredTool,
        bytes: usize,
    ) -> Result<(), AgentError> {
        let exhausted = |budget, limit| Err(AgentError::Exhausted(Exhaustion { budget, limit }));
        if let Some(limit) = declaration.limits.argument_bytes.filter(|limit| bytes as u64 > *limit) {
            return exhausted(BudgetKind::Arguments, limit);
        }
        let mut counts = self.lock();
        if let Some(limit) = declaration.limits.calls.filter(|limit| counts.total >= *limit) {
            return exhausted(BudgetKind::Calls, limit);
        }
        // Only tools with a limit are counted, so a declaration bounds the map.
        if let Some(limit) = tool.max_calls {
            let calls = counts.by_tool.entry(tool.tool.name.clone()).or_default();
            if *calls >= limit {
                return exhausted(BudgetKind::Calls, limit);
            }
            *calls += 1;
        }
        counts.total += 1;
        Ok(())
    }

    pub(super) fn total(&self) -> u64 {
        self.lock().total
    }

    /// Waits until fewer than `parallel` calls run.
    pub(super) async fn acquire(&self, parallel: Option<u64>) -> ReverseCallPermit<'_> {
        loop {
            // Registered before the check, so that no ended call is missed.
            let mut ended = std::pin::pin!(self.call_ended.notified());
            ended.as_mut().enable();
            {
                let mut counts = self.lock();
                if counts.running < parallel.unwrap_or(u64::MAX) {
                    counts.running += 1;
                    return ReverseCallPermit(self);
                }
            }
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use serde_json::json;

    fn declaration() -> ToolDeclaration {
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "limits": {"calls": 1}});
        let limits = json!({"calls": 3, "parallel": 2, "argumentBytes": 10});
        let mut free = tool("free");
        free["limits"] = json!({});
        let value = json!({"allowServerCalls": true, "tools": [tool("once"), free], "limits": limits});
        ToolDeclaration::parse(&value, true).unwrap().unwrap()
    }

    #[test]
    fn calls_are_counted_in_total_and_by_tool() {
        let (declaration, counter) = (declaration(), ReverseCallCounter::default());
        let count = |name: &str, bytes| counter.count(&declaration, declaration.tool(name).unwrap(), bytes);
        let exhausted = |budget, limit| Err(AgentError::Exhausted(Exhaustion { budget, limit }));
        assert_eq!(count("free", 11), exhausted(BudgetKind::Arguments, 10));
        assert_eq!(count("once", 10), Ok(()));
        assert_eq!(count("once", 10), exhausted(BudgetKind::Calls, 1));
        assert_eq!((count("free", 0), count("free", 0)), (Ok(()), Ok(())));
        assert_eq!(count("free", 0), exhausted(BudgetKind::Calls, 3));
        assert_eq!(counter.total(), 3);
    }

    #[test]
    fn calls_above_the_parallel_limit_wait() {
        let counter = ReverseCallCounter::default();
        let acquire = || counter.acquire(Some(2));
        let first = acquire().now_or_never().unwrap();
        let _second = acquire().now_or_never().unwrap();
        let mut third = std::pin::pin!(acquire());
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.now_or_never().is_some());
    }
}
