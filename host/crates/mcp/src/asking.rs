//! The guest's side of a question: handed to whoever serves the call's current request, then waited for.

use super::pending::{Ask, Questions};
use super::reverse::{Brought, Declared};
use super::stream::Event;
use super::wire;
use async_trait::async_trait;
use rmcp::model::InputResponses;
use runtime::imports::{Abilities, ClientCalls, ClientError, Inquiry, Reply};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// What a call may know of the request that it is served under at the moment.
#[derive(Default)]
pub(super) struct View {
    seen: Mutex<Seen>,
    /// Calls of this host under this one that are under way, with the number of calls that each makes.
    nested: Mutex<HashMap<String, usize>>,
}

/// A reverse call is under way until this is dropped.
pub(super) struct UnderWay<'a> {
    view: &'a View,
    parent: String,
    /// Its own id, if it is made in this host.
    own: Option<String>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut nested = self.view.nested();
        if let Some(own) = &self.own {
            nested.remove(own);
        }
        if let Some(calls) = nested.get_mut(&self.parent) {
            *calls -= 1;
        }
    }
}

#[derive(Default)]
struct Seen {
    abilities: Abilities,
    /// Answers that came along with the request, by key.
    given: InputResponses,
    /// The client's own tools.
    declared: Option<Arc<Declared>>,
    /// Outcomes of calls of those that came along, by key.
    outcomes: Map<String, Value>,
}

impl View {
    /// Another request, with what its client declared and brought along.
    pub(super) fn turn_to(&self, abilities: Abilities, given: InputResponses, brought: Brought) {
        let outcomes = brought.retry.map(|retry| retry.outcomes).unwrap_or_default();
        *self.seen() = Seen { abilities, given, declared: brought.declared, outcomes };
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nested(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.nested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call makes another one, in this host or elsewhere.
    pub(super) fn begin(&self, parent: &str, own: Option<&str>) -> UnderWay<'_> {
        let mut nested = self.nested();
        if let Some(calls) = nested.get_mut(parent) {
            *calls += 1;
        }
        if let Some(own) = own {
            nested.insert(own.to_owned(), 0);
        }
        UnderWay { view: self, parent: parent.to_owned(), own: own.map(str::to_owned) }
    }

    /// Whether a nested call does something other than wait for those that it called, or for an answer to its questions.
    pub(super) fn is_working(&self, asked: &[Ask]) -> bool {
        let at_an_end = self.nested().values().filter(|calls| **calls == 0).count();
        at_an_end > asked.iter().filter(|ask| matches!(ask, Ask::Questions(_))).count()
    }

    /// What the client of this very request can be asked.
    pub(super) fn abilities(&self) -> Abilities {
        self.seen().abilities
    }

    /// Takes the answer under a key, if there is one.
    pub(super) fn take(&self, key: &str) -> Option<Value> {
        self.seen().given.remove(key)
    }

    /// What the client of this very request lets the server call.
    pub(super) fn declared(&self) -> Option<Arc<Declared>> {
        self.seen().declared.clone()
    }

    /// Takes the outcome under a call's key, if there is one.
    pub(super) fn take_outcome(&self, key: &str) -> Option<Value> {
        self.seen().outcomes.remove(key)
    }
}

/// Asks through the call's own queue, so that everything the call said before is out before the question.
pub(super) struct Asker {
    pub(super) view: Arc<View>,
    pub(super) queue: mpsc::Sender<Event>,
}

#[async_trait]
impl ClientCalls for Asker {
    fn abilities(&self) -> Abilities {
        self.view.abilities()
    }

    async fn ask(&self, mut inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        // A client may bring answers along before it is asked: it was asked in an earlier, stateless round.
        let mut replies: Vec<Option<Reply>> = inquiry
            .questions
            .iter()
            .map(|(key, asked)| self.view.take(key).map(|value| wire::reply(asked, value)))
            .map(|reply| reply.filter(|reply| !matches!(reply, Reply::Missing(_))))
            .collect();
        let mut known = replies.iter().map(Option::is_some);
        inquiry.questions.retain(|_| !known.next().unwrap_or_default());
        if !inquiry.questions.is_empty() {
            let (answer, answered) = oneshot::channel();
            let asked = Ask::Questions(Questions::new(inquiry, answer));
            // Whoever serves the call is gone when it is cancelled.
            self.queue.send(Event::Ask(Box::new(asked))).await.map_err(|_| ClientError::Cancelled)?;
            let mut rest = answered.await.map_err(|_| ClientError::Cancelled)??.into_iter();
            for reply in replies.iter_mut().filter(|reply| reply.is_none()) {
                *reply = rest.next();
            }
        }
        let missing = || Reply::Missing("the client sent no answer to this question".into());
        Ok(replies.into_iter().map(|reply| reply.unwrap_or_else(missing)).collect())
    }
}

/// Why a question has no answer, in words for whoever asked.
pub fn client_error(error: &ClientError) -> String {
    match error {
        ClientError::Unsupported(ability) => format!("the client cannot answer it: it has no {}", ability.name()),
        ClientError::Denied(denial) => {
            format!("it needs {} {}, which was not granted", denial.capability, denial.target)
        }
        ClientError::Exhausted(it) => format!("the limit of {} {} is reached", it.limit, it.budget.name()),
        ClientError::Timeout(limit) => format!("there was no answer within {limit} ms"),
        ClientError::Cancelled => "the call is over".into(),
        ClientError::NotOffered(reason)
        | ClientError::Invalid(reason)
        | ClientError::Declined(reason)
        | ClientError::NotAnswered(reason)
        | ClientError::Failed(reason) => reason.clone(),
    }
}
