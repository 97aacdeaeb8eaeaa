//! What a call waits for from its client: answers to questions, outcomes of reverse calls, or both, if several nested calls
//! run.

use super::view::RequestView;
use protocol::questions;
use rmcp::ErrorData;
use rmcp::model::InputRequests;
use runtime::imports::{AgentError, BudgetKind, CheckedQuestion, ClientError, ClientReply, Exhaustion, QuestionBatch};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// The reply to a question that was sent to the client, if the client came back without an answer.
pub(crate) fn no_answer(key: &str) -> ClientReply {
    ClientReply::Missing(format!("there is no answer under the key `{key}`"))
}

/// The outcome of a reverse call, if the client came back without one.
pub(crate) fn no_outcome() -> AgentError {
    AgentError::Failed("the client sent the request again without an outcome".into())
}

/// One thing that a call waits for.
pub(crate) enum PendingRequest {
    Questions(PendingQuestions),
    ReverseCall(PendingReverseCall),
}

/// Questions that wait for the client.
pub(crate) struct PendingQuestions {
    batch: QuestionBatch,
    answer: oneshot::Sender<Result<Vec<ClientReply>, ClientError>>,
}

/// A reverse call that waits for the client.
pub(crate) struct PendingReverseCall {
    /// The key of the call, unique within the guest's call.
    pub(crate) key: String,
    /// The data that the client receives about it, in the form of the extension.
    pub(crate) fields: Value,
    /// How long a call that waits for it may be parked.
    pub(crate) timeout: Duration,
    /// How long the caller waits for the outcome.
    pub(crate) waits: Duration,
    /// The step that makes it, if the call has a journal.
    pub(crate) step: Option<String>,
    /// Receives the client's outcome unchecked. Closed when the call no longer waits for it.
    pub(crate) answer: oneshot::Sender<Result<Value, AgentError>>,
}

impl PendingQuestions {
    pub(crate) fn new(batch: QuestionBatch, answer: oneshot::Sender<Result<Vec<ClientReply>, ClientError>>) -> Self {
        Self { batch, answer }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.batch.timeout
    }

    /// The step that asks them, if the call has a journal.
    pub(crate) fn step(&self) -> Option<&str> {
        self.batch.step.as_deref()
    }

    pub(crate) fn questions(&self) -> &[(String, CheckedQuestion)] {
        &self.batch.questions
    }

    /// The questions as requests of the protocol.
    pub(crate) fn requests(&self, correlation: Option<&str>) -> Result<InputRequests, ErrorData> {
        let source = (&self.batch.plugin, self.batch.author);
        self.questions()
            .iter()
            .map(|(key, asked)| Ok((key.clone(), questions::to_request(asked, source, correlation)?)))
            .collect()
    }

    /// Whether the call has stopped waiting for the answers.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// Ready when the call has stopped waiting for the answers.
    pub(crate) fn poll_abandoned(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.answer.poll_closed(context)
    }

    /// Answers with what the current request brings.
    fn answer_from(self, view: &RequestView) {
        let reply = |(key, asked): &(String, CheckedQuestion)| match view.take_answer(key) {
            Some(value) => questions::reply_from_json(asked, value),
            None => no_answer(key),
        };
        let replies = self.batch.questions.iter().map(reply).collect();
        self.answer(Ok(replies));
    }

    pub(crate) fn answer(self, replies: Result<Vec<ClientReply>, ClientError>) {
        // If the call has ended meanwhile, it needs no answer.
        let _ = self.answer.send(replies);
    }

    /// Renames keys that other questions of the round have already. The guest does not notice, since replies come in the order
    /// of the questions. Returns whether a key was renamed.
    pub(crate) fn make_keys_unique(&mut self, taken: &mut HashSet<String>) -> bool {
        let mut has_renamed = false;
        for (key, _) in &mut self.batch.questions {
            let (own, mut number) = (key.clone(), 1);
            while !taken.insert(key.clone()) {
                number += 1;
                *key = format!("{own}-{number}");
                has_renamed = true;
            }
        }
        has_renamed
    }
}

impl PendingReverseCall {
    /// Answers with what the current request brings. An outcome counts only if the request declares the client's tools again.
    fn answer_from(self, view: &RequestView) {
        let outcome = if view.declaration().is_none() {
            let why = "the client sent the request again without declaring its tools";
            Err(AgentError::NotSupported(why.into()))
        } else {
            view.take_outcome(&self.key).ok_or_else(no_outcome)
        };
        self.answer(outcome);
    }

    pub(crate) fn answer(self, outcome: Result<Value, AgentError>) {
        let _ = self.answer.send(outcome);
    }
}

impl PendingRequest {
    /// Refuses it, because too many calls wait already.
    pub(crate) fn refuse_over_limit(self, limit: usize) {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let why = Exhaustion { budget: BudgetKind::Questions, limit };
        match self {
            Self::Questions(questions) => questions.answer(Err(ClientError::Exhausted(why))),
            Self::ReverseCall(call) => call.answer(Err(AgentError::Exhausted(why))),
        }
    }

    fn is_abandoned(&self) -> bool {
        match self {
            Self::Questions(questions) => questions.is_abandoned(),
            Self::ReverseCall(call) => call.answer.is_closed(),
        }
    }

    fn timeout(&self) -> Duration {
        match self {
            Self::Questions(questions) => questions.timeout(),
            Self::ReverseCall(call) => call.timeout,
        }
    }
}

/// Everything that a parked call waits for. A round asks only for one kind; the rest is asked in the next round.
pub(crate) struct PendingRequests {
    now: CurrentRequests,
    next: Vec<PendingRequest>,
    has_renamed_keys: bool,
}

enum CurrentRequests {
    Questions(Vec<PendingQuestions>),
    ReverseCalls(Vec<PendingReverseCall>),
}

/// What one round asks the client for.
pub(crate) enum RoundRequests {
    Questions(InputRequests),
    /// The fields of each call, by key.
    ReverseCalls(Map<String, Value>),
}

impl PendingRequests {
    /// The first request decides which kind this round asks for. Requests whose waiters have timed out are dropped;
    /// none if no request is left.
    pub(crate) fn from_requests(mut asks: Vec<PendingRequest>) -> Option<Self> {
        asks.retain(|ask| !ask.is_abandoned());
        if asks.is_empty() {
            return None;
        }
        let calls_first = matches!(asks.first(), Some(PendingRequest::ReverseCall(_)));
        let (mut questions, mut calls, mut next, mut keys) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        let mut has_renamed_keys = false;
        for ask in asks {
            match ask {
                PendingRequest::Questions(mut asked) if !calls_first => {
                    has_renamed_keys |= asked.make_keys_unique(&mut keys);
                    questions.push(asked);
                }
                PendingRequest::ReverseCall(call) if calls_first => calls.push(call),
                other => next.push(other),
            }
        }
        Some(Self {
            now: if calls_first { CurrentRequests::ReverseCalls(calls) } else { CurrentRequests::Questions(questions) },
            next,
            has_renamed_keys,
        })
    }

    /// Whether a key was renamed, so that only this instance of the call knows which question an answer belongs to.
    pub(crate) fn has_renamed_keys(&self) -> bool {
        self.has_renamed_keys
    }

    /// The keys of everything that this round asks.
    pub(crate) fn asked_keys(&self) -> Vec<String> {
        match &self.now {
            CurrentRequests::Questions(questions) => {
                questions.iter().flat_map(|asked| asked.questions()).map(|(key, _)| key.clone()).collect()
            }
            CurrentRequests::ReverseCalls(calls) => calls.iter().map(|call| call.key.clone()).collect(),
        }
    }

    /// How long the call may be parked.
    pub(crate) fn timeout(&self) -> Duration {
        let now = match &self.now {
            CurrentRequests::Questions(questions) => questions.iter().map(PendingQuestions::timeout).max(),
            CurrentRequests::ReverseCalls(calls) => calls.iter().map(|call| call.timeout).max(),
        };
        now.into_iter().chain(self.next.iter().map(PendingRequest::timeout)).max().unwrap_or_default()
    }

    /// Which kind of token resumes the call. The token is bound to it, so that one kind is never accepted as the other.
    pub(crate) fn resume_token(&self) -> ResumeToken {
        match self.now {
            CurrentRequests::Questions(_) => ResumeToken::RequestState,
            CurrentRequests::ReverseCalls(_) => ResumeToken::Continuation,
        }
    }

    /// The requests of this round to the client.
    pub(crate) fn to_round_requests(&self, correlation: Option<&str>) -> Result<RoundRequests, ErrorData> {
        Ok(match &self.now {
            CurrentRequests::Questions(questions) => {
                let mut requests = InputRequests::default();
                for asked in questions {
                    requests.extend(asked.requests(correlation)?);
                }
                RoundRequests::Questions(requests)
            }
            CurrentRequests::ReverseCalls(calls) => {
                RoundRequests::ReverseCalls(calls.iter().map(|call| (call.key.clone(), call.fields.clone())).collect())
            }
        })
    }

    /// Answers the requests of this round with what the next request brings. Returns the requests that are still to be asked.
    pub(crate) fn answer_from(self, view: &RequestView) -> Vec<PendingRequest> {
        match self.now {
            CurrentRequests::Questions(questions) => questions.into_iter().for_each(|asked| asked.answer_from(view)),
            CurrentRequests::ReverseCalls(calls) => calls.into_iter().for_each(|call| call.answer_from(view)),
        }
        self.next
    }
}

/// The form of the token by which a client selects the parked call that a request resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResumeToken {
    /// `requestState` of the protocol, for questions.
    RequestState,
    /// `continuation` of the extension, for reverse calls.
    Continuation,
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{PluginId, Side};
    use runtime::imports::Author;

    fn questions(key: &str) -> (PendingRequest, oneshot::Receiver<Result<Vec<ClientReply>, ClientError>>) {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let questions = vec![(key.to_owned(), CheckedQuestion::Roots)];
        let (answer, answered) = oneshot::channel();
        let batch =
            QuestionBatch { plugin, author: Author::Plugin, questions, timeout: Duration::from_secs(1), step: None };
        (PendingRequest::Questions(PendingQuestions::new(batch, answer)), answered)
    }

    fn call(key: &str) -> (PendingRequest, oneshot::Receiver<Result<Value, AgentError>>) {
        let (answer, answered) = oneshot::channel();
        let (key, fields, timeout, step) = (key.to_owned(), Value::Null, Duration::from_secs(2), None);
        let call = PendingReverseCall { key, fields, timeout, waits: timeout, step, answer };
        (PendingRequest::ReverseCall(call), answered)
    }

    #[test]
    fn a_round_asks_one_kind_and_leaves_the_rest_to_the_next() {
        let ((q1, _a), (q2, _b)) = (questions("q"), questions("q"));
        let ((c1, _c), (c2, _d)) = (call("c1"), call("c2"));
        let pending = PendingRequests::from_requests(vec![q1, c1, q2, c2]).unwrap();
        assert_eq!((pending.resume_token(), pending.timeout()), (ResumeToken::RequestState, Duration::from_secs(2)));
        let Ok(RoundRequests::Questions(requests)) = pending.to_round_requests(None) else {
            panic!("questions come first")
        };
        assert_eq!(requests.keys().collect::<Vec<_>>(), ["q", "q-2"]);
        let rest = PendingRequests::from_requests(pending.answer_from(&RequestView::default())).unwrap();
        assert_eq!(rest.resume_token(), ResumeToken::Continuation);
        let Ok(RoundRequests::ReverseCalls(calls)) = rest.to_round_requests(None) else { panic!("calls are left") };
        assert_eq!(calls.keys().collect::<Vec<_>>(), ["c1", "c2"]);
    }

    #[test]
    fn outcomes_without_a_declaration_are_ignored() {
        let (ask, mut answered) = call("c");
        assert!(PendingRequests::from_requests(vec![ask]).unwrap().answer_from(&RequestView::default()).is_empty());
        assert!(matches!(answered.try_recv(), Ok(Err(AgentError::NotSupported(_)))));
    }
}
