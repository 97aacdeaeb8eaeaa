//! Decides what servers want: rules first, then earlier decisions of the user, then the user.
//!
//! A request for the user waits under a number until the user decides or the server stops waiting. The user interface
//! reads [`AgentEvent`]s; nothing here prints.

mod event;
mod handler;
mod pending;
mod questions;
mod request;

pub use event::{AgentEvent, CallOutcome, KeptCall};
pub use request::{ApprovalDecision, ApprovalRequest, DecisionError};

use crate::memory::{Memory, MemoryFile, UnfinishedCall};
use crate::reactions::TriggeredReaction;
use crate::rules::{AgentRule, Rules};
use crate::transcript::Transcript;
use pending::PendingApprovals;
use platform::sync::Mutex;
use runtime::imports::{ModelProvider, Root, ToolCaller};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, OnceLock};
use tokio::sync::mpsc;

/// Queued events. Bounds what a flood of server messages makes the agent keep. Further events are dropped, except
/// results and requests for the user, which wait.
const MAX_QUEUED_EVENTS: usize = 1_024;
/// The source of a decision that needed an absent user.
const NOBODY: &str = "nobody is there to decide";

/// Approves reverse calls and reactions, and answers questions of servers.
pub struct Approvals {
    rules: Rules,
    memory: Arc<MemoryFile>,
    attended: bool,
    model: Option<Arc<dyn ModelProvider>>,
    roots: Vec<Root>,
    tools: OnceLock<Arc<dyn ToolCaller>>,
    transcript: Arc<Transcript>,
    pending: Mutex<PendingApprovals>,
    calls: Mutex<HashMap<String, u64>>,
    events: mpsc::Sender<AgentEvent>,
}

pub struct ApprovalsOptions {
    pub rules: Rules,
    /// Holds the user's earlier decisions.
    pub memory: Arc<MemoryFile>,
    /// Whether a user is present.
    pub attended: bool,
    /// Answers requests to a model. Without one the user answers.
    pub model: Option<Arc<dyn ModelProvider>>,
    /// Folders that servers may see.
    pub roots: Vec<Root>,
}

impl Approvals {
    /// Returns the queue of events as well.
    pub fn new(options: ApprovalsOptions) -> (Arc<Self>, mpsc::Receiver<AgentEvent>) {
        let (events, queue) = mpsc::channel(MAX_QUEUED_EVENTS);
        let ApprovalsOptions { rules, memory, attended, model, roots } = options;
        let approvals = Self {
            rules,
            memory,
            attended,
            model,
            roots,
            tools: OnceLock::new(),
            transcript: Arc::default(),
            pending: Mutex::default(),
            calls: Mutex::default(),
            events,
        };
        (Arc::new(approvals), queue)
    }

    /// Sets the tools that servers may be offered. Edited arguments must match their schemas. Only the first call counts.
    pub fn set_tools(&self, tools: Arc<dyn ToolCaller>) {
        let _ = self.tools.set(tools);
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn memory(&self) -> &Arc<MemoryFile> {
        &self.memory
    }

    pub fn transcript(&self) -> &Arc<Transcript> {
        &self.transcript
    }

    /// Registers a call of the agent. Events of its task are reported under the number `call`.
    pub fn call_started(&self, call: u64, open: UnfinishedCall) {
        let tool = format!("{}.{}", open.server, open.tool);
        let arguments = serde_json::to_string(&open.arguments).unwrap_or_default();
        self.transcript.call_started(call, self.rules.chunks(&open.server), &tool, &arguments);
        self.calls.lock().insert(open.correlation_id.clone(), call);
        self.remember(|memory| {
            // A call that an earlier run began is in the memory already.
            if memory.call(&open.correlation_id).is_none() {
                memory.calls.push(open);
            }
        });
    }

    /// The number of the agent's call that the request belongs to.
    pub fn call_of(&self, request: &ApprovalRequest) -> Option<u64> {
        self.calls.lock().get(&request.requester()?.task).copied()
    }

    /// Ends a call: reports the outcome after all its other events. `keep` says what the memory keeps of it.
    pub async fn call_ended(&self, task: &str, outcome: CallOutcome, keep: KeptCall) {
        let Some(call) = self.calls.lock().remove(task) else { return };
        self.transcript.call_ended(call, &outcome.content, outcome.is_error);
        let mut is_task = false;
        self.remember(|memory| is_task = memory.call(task).is_some_and(|open| open.is_task()));
        // If the agent is killed before the outcome is shown, the outcome is lost, but nobody repeats the call. The result of a
        // task is still on its server, so its end may be shown twice instead.
        if !is_task {
            self.settle(task, keep);
        }
        let task = task.to_owned();
        let _ = self.events.send(AgentEvent::CallEnded { call, task, outcome, keep }).await;
    }

    /// Settles a call whose end the user has seen.
    pub fn call_shown(&self, task: &str, keep: KeptCall) {
        self.settle(task, keep);
    }

    fn settle(&self, task: &str, keep: KeptCall) {
        self.remember(|memory| match memory.call(task) {
            // Another run has taken the call meanwhile.
            Some(open) if open.run != self.memory.run() => {}
            Some(open) if keep == KeptCall::Call || (keep == KeptCall::IfOpen && open.point.is_some()) => {
                open.run.clear()
            }
            _ => memory.remove_call(task),
        });
    }

    /// Requests that wait for the user, the oldest first.
    pub fn pending_requests(&self) -> Vec<(u64, Arc<ApprovalRequest>)> {
        self.pending().all()
    }

    /// Decides a request; without a number the oldest.
    pub fn decide(
        &self,
        id: Option<u64>,
        decision: ApprovalDecision,
    ) -> Result<(u64, Arc<ApprovalRequest>), DecisionError> {
        self.pending().decide(id, decision)
    }

    /// Decides whether an event may start the call that the user has configured for it.
    pub async fn may_react(&self, server: &str, triggered: &TriggeredReaction) -> bool {
        let subject = format!("event {}", triggered.event.name);
        let matched = self.rules.reaction(server, &triggered.event.name);
        let decision = match matched.rule {
            AgentRule::Allow => {
                self.report_decision(server, &subject, "react", matched.source);
                return true;
            }
            AgentRule::Deny(_) => {
                self.report_decision(server, &subject, "ignore", matched.source);
                return false;
            }
            AgentRule::Ask | AgentRule::OncePerTask => {
                self.ask_user(ApprovalRequest::Reaction { server: server.to_owned(), triggered: triggered.clone() })
                    .await
            }
        };
        let (decision, source) = match decision {
            Some(ApprovalDecision::Deny(_) | ApprovalDecision::Cancel) => ("ignore", "the user"),
            Some(_) => ("react", "the user"),
            None => ("ignore", NOBODY),
        };
        self.report_decision(server, &subject, decision, source.to_owned());
        decision == "react"
    }

    /// Queues an event, or drops it when the queue is full.
    fn send_event(&self, event: AgentEvent) {
        let _ = self.events.try_send(event);
    }

    fn report_decision(&self, server: &str, subject: &str, decision: &str, source: String) {
        let (server, subject, decision) = (server.to_owned(), subject.to_owned(), decision.to_owned());
        self.send_event(AgentEvent::Decided { server, subject, decision, source });
    }

    fn pending(&self) -> MutexGuard<'_, PendingApprovals> {
        self.pending.lock()
    }

    /// Asks the user to decide. None when no user is present, when too many requests wait, or when it is withdrawn.
    async fn ask_user(&self, request: ApprovalRequest) -> Option<ApprovalDecision> {
        if !self.attended {
            return None;
        }
        let request = Arc::new(request);
        let (id, decision) = self.pending().add(request.clone())?;
        // Withdrawn when the server stops waiting, which drops this future.
        let _guard = PendingGuard { approvals: self, id };
        let _ = self.events.send(AgentEvent::ApprovalRequested(id, request)).await;
        decision.await.ok()
    }

    fn remember(&self, change: impl FnOnce(&mut Memory)) {
        if let Err(error) = self.memory.change(change) {
            tracing::warn!("{error}");
        }
    }
}

/// Keeps a request pending until it is dropped.
struct PendingGuard<'a> {
    approvals: &'a Approvals,
    id: u64,
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        if self.approvals.pending().withdraw(self.id) {
            self.approvals.send_event(AgentEvent::ApprovalWithdrawn(self.id));
        }
    }
}

#[cfg(test)]
mod tests;
