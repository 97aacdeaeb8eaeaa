//! Runs tools of this client for a task of a server: the task shows the calls, and their outcomes are sent with `tasks/update`.

use crate::calls::exchange::{Exchange, MAX_TOGETHER};
use crate::open_call::reverse::serve_reverse_call;
use crate::open_call::reverse_calls::{ReverseCallOutcome, ReverseCallParams, ServedIn};
use futures::FutureExt;
use futures::future::BoxFuture;
use protocol::names::CLIENT_TOOLS;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;

/// Length of a call's key, in bytes. Keys are kept as long as the task is followed, and stored.
const MAX_KEY: usize = 128;
/// Calls for one task. Their keys are kept as long as the task is followed: bounds the memory if a server never stops listing
/// new calls.
const MAX_CALLS: usize = 4_096;
/// Bytes of outcomes that are kept, to be sent again to a server that has lost them.
const MAX_KEPT: usize = 1 << 20;

/// The calls of one task, by key. Whatever the server does, none is made twice.
pub(crate) struct UpstreamTaskCalls<'e> {
    running: BTreeMap<String, BoxFuture<'e, Value>>,
    /// The outcomes of all calls that have been made; none if the outcome is no longer kept.
    outcomes: BTreeMap<String, Option<Value>>,
    /// Calls whose outcomes the server has, and which it still lists.
    taken: BTreeSet<String>,
    /// The calls that the server lists and that have an outcome.
    due: BTreeSet<String>,
}

impl<'e> UpstreamTaskCalls<'e> {
    /// `begun` are calls whose outcome nobody knows: an earlier process of this client has begun them.
    pub(crate) fn new(begun: &[String]) -> Self {
        let unknown =
            || failed("it was begun by a process of the client that ended meanwhile, and nobody knows what came of it");
        let outcomes = begun.iter().map(|key| (key.clone(), Some(unknown()))).collect();
        Self { running: BTreeMap::new(), outcomes, taken: BTreeSet::new(), due: BTreeSet::new() }
    }

    /// Reads the calls that a task lists in its `_meta`. The error says what is wrong with them.
    pub(crate) fn read(meta: &Map<String, Value>) -> Result<BTreeMap<String, ReverseCallParams>, String> {
        let Some(calls) = meta.get(CLIENT_TOOLS).and_then(|fields| fields.get("toolCalls")) else {
            return Ok(BTreeMap::new());
        };
        let calls: BTreeMap<String, ReverseCallParams> =
            serde::Deserialize::deserialize(calls).map_err(|error| format!("malformed reverse calls: {error}"))?;
        if calls.len() > MAX_TOGETHER || calls.keys().any(|key| key.len() > MAX_KEY) {
            return Err("too many reverse calls at once, or too long keys".into());
        }
        Ok(calls)
    }

    /// Whether these calls may be made, too. The error says why not.
    pub(crate) fn check(&self, calls: &BTreeMap<String, ReverseCallParams>) -> Result<(), String> {
        let is_new = |key: &&String| !self.outcomes.contains_key(*key) && !self.running.contains_key(*key);
        match self.outcomes.len() + self.running.len() + calls.keys().filter(is_new).count() <= MAX_CALLS {
            true => Ok(()),
            false => Err(format!("more than {MAX_CALLS} reverse calls for one task")),
        }
    }

    /// Starts the calls that are new. A call that is no longer listed runs on, since the server may list it again.
    pub(crate) fn note(&mut self, exchange: &'e Exchange<'_>, calls: BTreeMap<String, ReverseCallParams>) {
        self.taken.retain(|key| calls.contains_key(key));
        self.due = calls.keys().filter(|key| self.outcomes.contains_key(*key)).cloned().collect();
        self.due.retain(|key| !self.taken.contains(key));
        for (key, params) in calls {
            if self.outcomes.contains_key(&key) || self.running.contains_key(&key) || self.running.len() >= MAX_TOGETHER
            {
                continue;
            }
            let params = ReverseCallParams { key: Some(key.clone()), ..params };
            let call = exchange.call();
            let outcome = async move { serve_reverse_call(call, params, ServedIn::Caller).await.into_value() };
            self.running.insert(key, outcome.boxed());
        }
    }

    /// Returns when one more call has an outcome.
    pub(crate) async fn ended(&mut self) {
        let (key, outcome) = poll_fn(|context| {
            let ended = self.running.iter_mut().find_map(|(key, running)| match running.poll_unpin(context) {
                Poll::Ready(outcome) => Some((key.clone(), outcome)),
                Poll::Pending => None,
            });
            ended.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        self.running.remove(&key);
        self.outcomes.insert(key.clone(), Some(outcome));
        self.due.insert(key);
    }

    /// Ends the running calls.
    pub(crate) fn stop(&mut self) {
        self.running.clear();
    }

    /// The outcomes that the server has not got.
    pub(crate) fn unsent(&self) -> Map<String, Value> {
        let gone = || failed("it was made, and its outcome is not kept any more");
        let outcome = |key: &String| {
            let kept = self.outcomes.get(key).cloned().flatten();
            (key.clone(), kept.unwrap_or_else(gone))
        };
        self.due.iter().map(outcome).collect()
    }

    /// The server has stored these outcomes.
    pub(crate) fn sent(&mut self, exchange: &Exchange<'_>, outcomes: &Map<String, Value>) {
        for key in outcomes.keys() {
            self.due.remove(key);
            self.taken.insert(key.clone());
            exchange.call().end_effect(key);
        }
        let mut bytes = 0;
        for outcome in self.outcomes.values_mut() {
            bytes += outcome.as_ref().map_or(0, |outcome| outcome.to_string().len());
            if bytes > MAX_KEPT {
                *outcome = None;
            }
        }
    }

    /// The server refuses these outcomes. An error that says so is sent in their place, once.
    pub(crate) fn refused(&mut self, exchange: &Exchange<'_>, outcomes: Map<String, Value>, why: &str) {
        let (told, new): (Map<_, _>, Map<_, _>) = outcomes.into_iter().partition(|(_, it)| it.get("error").is_some());
        self.sent(exchange, &told);
        for (key, _) in new {
            self.outcomes.insert(key, Some(failed(why)));
        }
    }
}

fn failed(why: &str) -> Value {
    ReverseCallOutcome::Error("failed", why.to_owned()).into_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_task_shows_is_checked() {
        let read = |calls: Value| {
            let meta = json!({ CLIENT_TOOLS: { "toolCalls": calls } });
            UpstreamTaskCalls::read(meta.as_object().unwrap()).map(|calls| calls.len())
        };
        assert_eq!(UpstreamTaskCalls::read(&Map::new()).unwrap().len(), 0);
        let call = json!({"name": "a.b", "arguments": {}, "key": "forged"});
        assert_eq!(read(json!({"call-1": call.clone(), "call-2": {}})), Ok(2));
        let calls =
            UpstreamTaskCalls::read(json!({CLIENT_TOOLS: {"toolCalls": {"k": call.clone()}}}).as_object().unwrap())
                .unwrap();
        assert_eq!(calls["k"].key, None, "a server does not set it");
        let many: Map<_, _> = (0..65).map(|at| (at.to_string(), json!({}))).collect();
        for wrong in
            [json!([]), json!({"k": 7}), json!({"k": {"arguments": []}}), many.into(), json!({"k".repeat(129): {}})]
        {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_that_lists_new_calls_for_ever_is_not_followed() {
        let earlier: Vec<String> = (0..MAX_CALLS - 1).map(|at| at.to_string()).collect();
        let calls = UpstreamTaskCalls::new(&earlier);
        let listed = |keys: &[&str]| {
            let listed: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), json!({}))).collect();
            let meta = json!({ CLIENT_TOOLS: { "toolCalls": listed } });
            calls.check(&UpstreamTaskCalls::read(meta.as_object().unwrap()).unwrap())
        };
        assert!(listed(&["1", "2", "new"]).is_ok(), "those that it knows are no new ones");
        assert!(listed(&["new", "newer"]).unwrap_err().contains("4096"));
    }

    #[test]
    fn what_an_earlier_process_has_begun_is_not_made_again() {
        let mut calls = UpstreamTaskCalls::new(&["call-3".to_owned()]);
        assert!(calls.unsent().is_empty(), "it is not listed");
        calls.due.insert("call-3".into());
        assert_eq!(calls.unsent()["call-3"]["error"]["code"], "failed");
    }
}
