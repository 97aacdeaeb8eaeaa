//! The calls of its client's tools that a task waits for: each is answered on its own, in any order.

use crate::client::pending::PendingReverseCall;
use crate::tasks::records::asked::{AskedKind, AskedQuestions};
use crate::tasks::records::record::millis;
use crate::tasks::records::shown_calls::ShownCalls;
use runtime::imports::AgentError;
use serde_json::{Map, Value};
use std::task::Context;

/// The calls that wait in this process.
#[derive(Default)]
pub(in crate::tasks) struct ToolCalls(Vec<WaitingCall>);

struct WaitingCall {
    /// The key of the call in this task.
    key: String,
    call: PendingReverseCall,
    bytes: usize,
    /// When the host gives up waiting, in milliseconds since 1970.
    expires: u64,
}

impl ToolCalls {
    pub(in crate::tasks) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::tasks) fn bytes(&self) -> usize {
        self.0.iter().map(|waiting| waiting.bytes).sum()
    }

    /// Makes a call wait, unless an earlier run has got its outcome.
    pub(in crate::tasks) fn ask(
        &mut self,
        call: PendingReverseCall,
        bytes: usize,
        asked: &mut AskedQuestions,
        now: u64,
    ) {
        let expires = now.saturating_add(millis(call.waits));
        let asked = asked.ask(AskedKind::Call, call.step.as_deref(), &call.key, now, expires);
        match asked.answer {
            Some(outcome) => call.answer(Ok(outcome)),
            None => self.0.push(WaitingCall { key: asked.key, call, bytes, expires: asked.expires }),
        }
    }

    pub(in crate::tasks) fn outstanding(&self) -> ShownCalls {
        let shown = |waiting: &WaitingCall| {
            let WaitingCall { key, call, expires, .. } = waiting;
            (key.clone(), call.fields.clone(), *expires)
        };
        ShownCalls::new(self.0.iter().map(shown))
    }

    /// Takes the outcomes of waiting calls out of `outcomes`.
    pub(in crate::tasks) fn answer(&mut self, outcomes: &mut Map<String, Value>, asked: &mut AskedQuestions) {
        for waiting in std::mem::take(&mut self.0) {
            match outcomes.remove(&waiting.key) {
                Some(outcome) => {
                    asked.answered(&waiting.key, &outcome);
                    waiting.call.answer(Ok(outcome));
                }
                None => self.0.push(waiting),
            }
        }
    }

    /// When the next call times out, if there is one.
    pub(in crate::tasks) fn expires(&self) -> Option<u64> {
        self.0.iter().map(|waiting| waiting.expires).min()
    }

    /// Gives up the calls that have timed out, and those whose guest has stopped waiting.
    pub(in crate::tasks) fn give_up(&mut self, now: u64) {
        for waiting in std::mem::take(&mut self.0) {
            if waiting.expires <= now {
                let timeout = millis(waiting.call.waits);
                waiting.call.answer(Err(AgentError::Timeout(timeout)));
            } else if !waiting.call.answer.is_closed() {
                self.0.push(waiting);
            }
        }
    }

    /// Whether the guest has stopped waiting for one of the calls.
    pub(in crate::tasks) fn has_abandoned(&mut self, context: &mut Context<'_>) -> bool {
        self.0.iter_mut().any(|waiting| waiting.call.answer.poll_closed(context).is_ready())
    }

    pub(in crate::tasks) fn take(&mut self) -> impl Iterator<Item = PendingReverseCall> {
        std::mem::take(&mut self.0).into_iter().map(|waiting| waiting.call)
    }
}
