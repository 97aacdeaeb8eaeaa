//! Requests that wait for the user, by number.

use super::request::{ApprovalDecision, ApprovalRequest, DecisionError};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;
use upstream::ReverseCallRequest;

/// Pending requests of one server. Bounds what a server that asks without end makes the user look at.
const MAX_PER_SERVER: usize = 64;

#[derive(Default)]
pub(super) struct PendingApprovals {
    last: u64,
    waiting: BTreeMap<u64, (Arc<ApprovalRequest>, oneshot::Sender<ApprovalDecision>)>,
}

impl PendingApprovals {
    /// Adds a request; none when too many of the server's requests wait.
    pub(super) fn add(&mut self, request: Arc<ApprovalRequest>) -> Option<(u64, oneshot::Receiver<ApprovalDecision>)> {
        let server = request.server();
        if self.waiting.values().filter(|(other, _)| other.server() == server).count() >= MAX_PER_SERVER {
            return None;
        }
        self.last += 1;
        let (send, receive) = oneshot::channel();
        self.waiting.insert(self.last, (request, send));
        Some((self.last, receive))
    }

    pub(super) fn all(&self) -> Vec<(u64, Arc<ApprovalRequest>)> {
        self.waiting.iter().map(|(id, (request, _))| (*id, request.clone())).collect()
    }

    /// Removes a request. Returns whether it was still pending.
    pub(super) fn withdraw(&mut self, id: u64) -> bool {
        self.waiting.remove(&id).is_some()
    }

    pub(super) fn decide(
        &mut self,
        id: Option<u64>,
        decision: ApprovalDecision,
    ) -> Result<(u64, Arc<ApprovalRequest>), DecisionError> {
        let id = match id {
            Some(id) => id,
            None => *self.waiting.first_key_value().ok_or(DecisionError::Nothing)?.0,
        };
        let request = self.waiting.get(&id).ok_or(DecisionError::Unknown(id))?.0.clone();
        request.check(&decision)?;
        self.settle(id, decision.clone());
        // A lasting approval also approves pending calls of the same tool.
        if let ApprovalRequest::ReverseCall { request, once_per_task, .. } = &*request {
            let for_task =
                decision == ApprovalDecision::AllowForTask || (decision == ApprovalDecision::Allow && *once_per_task);
            if for_task || decision == ApprovalDecision::AllowAlways {
                for other in self.same_tool(request, !for_task) {
                    self.settle(other, ApprovalDecision::Allow);
                }
            }
        }
        Ok((id, request))
    }

    fn same_tool(&self, other: &ReverseCallRequest, any_task: bool) -> Vec<u64> {
        let same = |request: &ApprovalRequest| match request {
            ApprovalRequest::ReverseCall { request, .. } => {
                let task = any_task || request.requester.task == other.requester.task;
                request.name == other.name && request.requester.server == other.requester.server && task
            }
            _ => false,
        };
        self.waiting.iter().filter(|(_, (request, _))| same(request)).map(|(id, _)| *id).collect()
    }

    fn settle(&mut self, id: u64, decision: ApprovalDecision) {
        if let Some((_, waiting)) = self.waiting.remove(&id) {
            // Fails if the server has stopped waiting.
            let _ = waiting.send(decision);
        }
    }
}
