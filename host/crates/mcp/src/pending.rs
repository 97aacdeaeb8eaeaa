//! What a call waits for from its client: answers to questions, outcomes of reverse calls, or both at once, where a call
//! has several under way.

use super::asking::View;
use super::wire;
use rmcp::ErrorData;
use rmcp::model::InputRequests;
use runtime::imports::{AgentError, Asked, Budgeted, ClientError, Exhaustion, Inquiry, Reply};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tokio::sync::oneshot;

/// One thing that is waited for.
pub(super) enum Ask {
    Questions(Questions),
    Call(Outgoing),
}

/// Questions that wait for the client.
pub(super) struct Questions {
    inquiry: Inquiry,
    answer: oneshot::Sender<Result<Vec<Reply>, ClientError>>,
}

/// A reverse call that waits for the client.
pub(super) struct Outgoing {
    /// Unique in its call.
    pub(super) key: String,
    /// As the extension describes it.
    pub(super) fields: Value,
    /// How long a call that waits for it may be kept.
    pub(super) keep: Duration,
    /// Who makes it, and the memory that it and those above it hold, in bytes.
    pub(super) parent: String,
    pub(super) held: u64,
    /// Closed when nobody waits any more. The outcome is the client's, as it is.
    pub(super) answer: oneshot::Sender<Result<Value, AgentError>>,
}

impl Questions {
    pub(super) fn new(inquiry: Inquiry, answer: oneshot::Sender<Result<Vec<Reply>, ClientError>>) -> Self {
        Self { inquiry, answer }
    }

    pub(super) fn patience(&self) -> Duration {
        self.inquiry.patience
    }

    pub(super) fn questions(&self) -> &[(String, Asked)] {
        &self.inquiry.questions
    }

    /// The questions as the protocol has them.
    pub(super) fn requests(&self, correlation: Option<&str>) -> Result<InputRequests, ErrorData> {
        let plugin = &self.inquiry.plugin;
        self.questions()
            .iter()
            .map(|(key, asked)| Ok((key.clone(), wire::request(asked, plugin, correlation)?)))
            .collect()
    }

    /// Lets the guest go on with what a retry brought along.
    fn answer_from(self, view: &View) {
        let reply = |(key, asked): &(String, Asked)| match view.take(key) {
            Some(value) => wire::reply(asked, value),
            None => Reply::Missing(format!("there is no answer under the key `{key}`")),
        };
        let replies = self.inquiry.questions.iter().map(reply).collect();
        self.answer(Ok(replies));
    }

    pub(super) fn answer(self, replies: Result<Vec<Reply>, ClientError>) {
        // A call that ended meanwhile needs no answer.
        let _ = self.answer.send(replies);
    }

    /// Gives the questions keys that no other has. Replies come in the order of the questions, so that nobody needs to
    /// know.
    fn rename(&mut self, taken: &mut HashSet<String>) {
        for (key, _) in &mut self.inquiry.questions {
            let (own, mut number) = (key.clone(), 1);
            while !taken.insert(key.clone()) {
                number += 1;
                *key = format!("{own}-{number}");
            }
        }
    }
}

impl Outgoing {
    /// Lets the guest go on with what a retry brought along. Without a declaration the client has no tools any more, and
    /// what it says of them does not count.
    fn answer_from(self, view: &View) {
        let outcome = if view.declared().is_none() {
            let why = "the client sent the request again without declaring its tools";
            Err(AgentError::NotSupported(why.into()))
        } else {
            view.take_outcome(&self.key)
                .ok_or_else(|| AgentError::Failed("the client sent the request again without an outcome".into()))
        };
        self.answer(outcome);
    }

    pub(super) fn answer(self, outcome: Result<Value, AgentError>) {
        let _ = self.answer.send(outcome);
    }
}

impl Ask {
    /// Too many wait already.
    pub(super) fn crowded(self, limit: usize) {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let why = Exhaustion { budget: Budgeted::Questions, limit };
        match self {
            Self::Questions(questions) => questions.answer(Err(ClientError::Exhausted(why))),
            Self::Call(call) => call.answer(Err(AgentError::Exhausted(why))),
        }
    }

    fn is_void(&self) -> bool {
        match self {
            Self::Questions(questions) => questions.answer.is_closed(),
            Self::Call(call) => call.answer.is_closed(),
        }
    }

    fn keep(&self) -> Duration {
        match self {
            Self::Questions(questions) => questions.patience(),
            Self::Call(call) => call.keep,
        }
    }
}

/// All that a parked call waits for: what the client is asked now, which is of one kind, and what it is asked next.
pub(super) struct Pending {
    now: Kind,
    next: Vec<Ask>,
}

enum Kind {
    Questions(Vec<Questions>),
    Calls(Vec<Outgoing>),
}

/// What the client is asked.
pub(super) enum Wanted {
    Answers(InputRequests),
    /// The fields of each call, by key.
    Outcomes(Map<String, Value>),
}

impl Pending {
    /// The kind of the first is asked now. What nobody waits for any more, as its time is up, is not asked at all.
    pub(super) fn of(mut asks: Vec<Ask>) -> Option<Self> {
        asks.retain(|ask| !ask.is_void());
        if asks.is_empty() {
            return None;
        }
        let calls_first = matches!(asks.first(), Some(Ask::Call(_)));
        let (mut questions, mut calls, mut next, mut keys) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        for ask in asks {
            match ask {
                Ask::Questions(mut asked) if !calls_first => {
                    asked.rename(&mut keys);
                    questions.push(asked);
                }
                Ask::Call(call) if calls_first => calls.push(call),
                other => next.push(other),
            }
        }
        Some(Self { now: if calls_first { Kind::Calls(calls) } else { Kind::Questions(questions) }, next })
    }

    /// How long the call is kept.
    pub(super) fn patience(&self) -> Duration {
        let now = match &self.now {
            Kind::Questions(questions) => questions.iter().map(Questions::patience).max(),
            Kind::Calls(calls) => calls.iter().map(|call| call.keep).max(),
        };
        now.into_iter().chain(self.next.iter().map(Ask::keep)).max().unwrap_or_default()
    }

    /// Memory that is held by what waits. Reverse calls that one guest makes at once wait in the same memory.
    pub(super) fn held(&self) -> u64 {
        let (mut asking, mut calling) = (0u64, BTreeMap::<&str, u64>::new());
        let mut call = |call: &Outgoing, parent| {
            let held = calling.entry(parent).or_default();
            *held = (*held).max(call.held);
        };
        match &self.now {
            Kind::Questions(questions) => asking += questions.iter().map(|asked| asked.inquiry.held).sum::<u64>(),
            Kind::Calls(calls) => calls.iter().for_each(|it| call(it, &it.parent)),
        }
        for ask in &self.next {
            match ask {
                Ask::Questions(asked) => asking += asked.inquiry.held,
                Ask::Call(it) => call(it, &it.parent),
            }
        }
        calling.into_values().fold(asking, u64::saturating_add)
    }

    /// What brings the call back: part of what its sealed name is bound to, so that one is never taken for the other.
    pub(super) fn comes_back_with(&self) -> Return {
        match self.now {
            Kind::Questions(_) => Return::State,
            Kind::Calls(_) => Return::Continuation,
        }
    }

    /// What the client is asked.
    pub(super) fn wanted(&self, correlation: Option<&str>) -> Result<Wanted, ErrorData> {
        Ok(match &self.now {
            Kind::Questions(questions) => {
                let mut requests = InputRequests::default();
                for asked in questions {
                    requests.extend(asked.requests(correlation)?);
                }
                Wanted::Answers(requests)
            }
            Kind::Calls(calls) => {
                Wanted::Outcomes(calls.iter().map(|call| (call.key.clone(), call.fields.clone())).collect())
            }
        })
    }

    /// Lets the guest go on with what a retry brought along; what is still to be asked remains.
    pub(super) fn answer_from(self, view: &View) -> Vec<Ask> {
        match self.now {
            Kind::Questions(questions) => questions.into_iter().for_each(|asked| asked.answer_from(view)),
            Kind::Calls(calls) => calls.into_iter().for_each(|call| call.answer_from(view)),
        }
        self.next
    }
}

/// Under which name a parked call is known to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Return {
    /// `requestState` of the protocol: questions.
    State,
    /// `continuation` of the extension for reverse calls.
    Continuation,
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{PluginId, Side};

    fn questions(key: &str, held: u64) -> (Ask, oneshot::Receiver<Result<Vec<Reply>, ClientError>>) {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let questions = vec![(key.to_owned(), Asked::Roots)];
        let (answer, answered) = oneshot::channel();
        let inquiry = Inquiry { plugin, questions, held, patience: Duration::from_secs(1) };
        (Ask::Questions(Questions::new(inquiry, answer)), answered)
    }

    fn call(key: &str, parent: &str, held: u64) -> (Ask, oneshot::Receiver<Result<Value, AgentError>>) {
        let (answer, answered) = oneshot::channel();
        let (key, parent, keep) = (key.to_owned(), parent.to_owned(), Duration::from_secs(2));
        (Ask::Call(Outgoing { key, fields: Value::Null, keep, parent, held, answer }), answered)
    }

    #[test]
    fn one_kind_is_asked_and_the_rest_stays() {
        let ((q1, _a), (q2, _b)) = (questions("q", 5), questions("q", 3));
        let ((c1, _c), (c2, _d)) = (call("c1", "a", 7), call("c2", "a", 9));
        let late = call("c3", "b", 1).0;
        let pending = Pending::of(vec![q1, c1, q2, late, c2]).unwrap();
        assert_eq!((pending.comes_back_with(), pending.patience()), (Return::State, Duration::from_secs(2)));
        // Two that ask, and one that makes two calls.
        assert_eq!(pending.held(), 5 + 3 + 9);
        let Ok(Wanted::Answers(requests)) = pending.wanted(None) else { panic!("questions come first") };
        assert_eq!(requests.keys().collect::<Vec<_>>(), ["q", "q-2"]);
        let rest = Pending::of(pending.answer_from(&View::default())).unwrap();
        assert_eq!(rest.comes_back_with(), Return::Continuation);
        let Ok(Wanted::Outcomes(calls)) = rest.wanted(None) else { panic!("calls are left") };
        assert_eq!(calls.keys().collect::<Vec<_>>(), ["c1", "c2"]);
    }

    #[test]
    fn without_a_declaration_outcomes_do_not_count() {
        let (ask, mut answered) = call("c", "a", 0);
        assert!(Pending::of(vec![ask]).unwrap().answer_from(&View::default()).is_empty());
        assert!(matches!(answered.try_recv(), Ok(Err(AgentError::NotSupported(_)))));
    }
}
