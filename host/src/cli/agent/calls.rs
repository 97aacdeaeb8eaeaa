//! The calls of one run of the agent.

use super::screen::inline;
use super::session::AgentSession;
use super::session_call::{MAX_ENDED, SessionCall};
use agent::{CallOutcome, KeptCall, UnfinishedCall};
use runtime::imports::{CallContext, Content};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl AgentSession {
    /// Starts a call and returns its number.
    pub(super) fn start(self: &Arc<Self>, tool: &str, arguments: Map<String, Value>) -> Result<u64, String> {
        let (server, tool) = self.servers.resolve(tool)?;
        let address = self.servers.address(&server).unwrap_or_default();
        let open = UnfinishedCall {
            correlation_id: CallContext::new("").id.to_string(),
            server,
            address,
            tool,
            arguments: Some(arguments),
            began: self.clock.unix().as_secs(),
            run: self.approvals.memory().run().to_owned(),
            ..UnfinishedCall::default()
        };
        let call = self.register(&open);
        let UnfinishedCall { correlation_id, server, tool, arguments, .. } = &open;
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        self.add_to_history(format!("call {call}: {server}.{} {}", inline(tool), inline(&arguments)));
        let shown = json!({ "event": "started", "call": call, "server": server, "tool": tool, "correlationId": correlation_id });
        self.screen.show(&shown, &format!("call {call}: {server}.{}", inline(tool)));
        self.run(call, open);
        Ok(call)
    }

    /// Gives a call its number.
    pub(super) fn register(&self, open: &UnfinishedCall) -> u64 {
        let call = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        {
            let mut calls = self.calls();
            calls.insert(call, SessionCall::new(open));
            let ended: Vec<u64> = calls.iter().filter(|(_, call)| call.ended.is_some()).map(|(id, _)| *id).collect();
            for old in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
                calls.remove(old);
            }
        }
        self.approvals.call_started(call, open.clone());
        call
    }

    /// Makes the call with this number, or continues it if an earlier run began it.
    pub(super) fn run(self: &Arc<Self>, call: u64, open: UnfinishedCall) {
        let Some(cancel) = self.calls().get(&call).map(|running| running.cancel.clone()) else { return };
        let session = self.clone();
        tokio::spawn(async move {
            let task = open.correlation_id.clone();
            let (outcome, keep) = match session.servers.call(open, cancel).await {
                Ok(outcome) => (outcome, KeptCall::Nothing),
                Err((reason, keep)) => {
                    (CallOutcome { content: vec![Content::text(reason)], structured: None, is_error: true }, keep)
                }
            };
            session.approvals.call_ended(&task, outcome, keep).await;
        });
    }

    /// Waits for a call; without a number for all calls and reactions.
    pub(super) async fn wait(&self, call: Option<u64>) {
        let runs = |id: &u64, running: &SessionCall| running.ended.is_none() && call.is_none_or(|call| *id == call);
        self.wait_while(call.is_none(), runs).await;
    }

    /// Waits as long as `is_awaited` is true of any call and, with `reactions`, as long as a reaction runs.
    pub(super) async fn wait_while(&self, reactions: bool, is_awaited: impl Fn(&u64, &SessionCall) -> bool) {
        loop {
            let changed = self.changed.notified();
            let idle = !reactions || self.reacting.load(Ordering::SeqCst) == 0;
            if idle && !self.calls().iter().any(|(id, running)| is_awaited(id, running)) {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn cancel(&self, call: u64) -> Result<(), String> {
        let calls = self.calls();
        let running = calls.get(&call).filter(|running| running.ended.is_none());
        running.ok_or_else(|| format!("no call {call} runs; see `calls`"))?.cancel.cancel();
        Ok(())
    }

    pub(super) fn cancel_all(&self) {
        self.calls().values().for_each(|running| running.cancel.cancel());
    }

    /// Sends a message to a call; without a number to the only running call.
    pub(super) async fn steer(&self, call: Option<u64>, message: &str) -> Result<u64, String> {
        let (call, server, call_id) = {
            let calls = self.calls();
            let mut running =
                calls.iter().filter(|(id, running)| running.ended.is_none() && call.is_none_or(|call| **id == call));
            match (running.next(), running.next()) {
                (Some((id, one)), None) => (*id, one.server.clone(), one.id.clone()),
                (None, _) => return Err("no such call runs; see `calls`".into()),
                (Some(_), Some(_)) => return Err("several calls run; name one: steer CALL TEXT".into()),
            }
        };
        self.servers.steer(&server, call_id.as_deref(), message).await?;
        self.add_to_history(format!("steered call {call}: {}", inline(message)));
        Ok(call)
    }

    /// Shows a call's past output, and its output from now on.
    pub(super) fn watch(&self, call: u64) -> Result<(), String> {
        let output: Vec<String> = {
            let mut calls = self.calls();
            let running = calls.get_mut(&call).ok_or_else(|| format!("there is no call {call}; see `calls`"))?;
            running.watched = true;
            running.output.iter().cloned().collect()
        };
        for text in output {
            self.screen.show(&json!({ "event": "output", "call": call, "text": text }), &text);
        }
        Ok(())
    }
}
