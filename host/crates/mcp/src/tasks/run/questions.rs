//! What a task asks its client: each question is answered on its own, in any order, and under a key that is used only once.

use crate::calls::wait_permits::{WaitPermit, WaitPermits};
use crate::client::pending::{PendingQuestions, PendingRequest, PendingReverseCall};
use crate::tasks::records::asked::{AskedKind, AskedQuestions};
use crate::tasks::records::record::millis;
use crate::tasks::records::shown_calls::ShownCalls;
use crate::tasks::run::tool_calls::ToolCalls;
use policy::Principal;
use protocol::questions;
use rmcp::model::InputResponses;
use runtime::engine::HeldResources;
use runtime::imports::{AgentError, ClientError, ClientReply};
use serde_json::{Map, Value};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Bytes of the open questions and calls of a task. All of them are stored and sent with every change, so this bounds the cost
/// of a plugin that asks very long questions.
const MAX_STORED: usize = 1 << 20;

pub(in crate::tasks) struct TaskQuestions {
    permits: Arc<WaitPermits>,
    principal: Principal,
    correlation: Option<String>,
    held: HeldResources,
    /// A waiting task needs one permit, however much it asks.
    permit: Option<WaitPermit>,
    /// The limit that was reached when it was refused a permit.
    limit: usize,
    /// Everything that the task has asked.
    asked: AskedQuestions,
    batches: Vec<AskedBatch>,
    /// The calls of its client's tools.
    calls: ToolCalls,
    /// The requests that were open when an earlier run of the call ended. They stay open until this run asks them again: a
    /// client that saw the task without them would think that they are withdrawn.
    earlier: Map<String, Value>,
}

/// Questions that the guest asked together. It gets all their answers together.
struct AskedBatch {
    questions: PendingQuestions,
    /// The requests that are sent, in the order of the questions. Each becomes none once it is answered.
    requests: Vec<Option<(String, Value)>>,
    replies: Vec<Option<ClientReply>>,
    bytes: usize,
    /// When the host gives up waiting, in milliseconds since 1970.
    expires: u64,
}

impl TaskQuestions {
    pub(in crate::tasks) fn new(
        permits: Arc<WaitPermits>,
        principal: Principal,
        correlation: Option<String>,
        held: HeldResources,
        asked: AskedQuestions,
        earlier: Map<String, Value>,
    ) -> Self {
        let (batches, calls) = Default::default();
        Self { permits, principal, correlation, held, permit: None, limit: 0, asked, batches, calls, earlier }
    }

    /// Whether the task waits for its client.
    pub(in crate::tasks) fn is_waiting(&self) -> bool {
        !self.batches.is_empty() || !self.calls.is_empty()
    }

    /// How many batches of questions wait for answers.
    pub(in crate::tasks) fn asking(&self) -> usize {
        self.batches.len()
    }

    /// Whether it waits without a permit, since the limit of waiting calls is reached.
    pub(in crate::tasks) fn lacks_permit(&self) -> bool {
        self.is_waiting() && self.permit.is_none()
    }

    /// Everything that the task has asked so far.
    pub(in crate::tasks) fn asked(&self) -> &AskedQuestions {
        &self.asked
    }

    /// Asks the client. `can_be_suspended` says whether the call can wait without its instance, if the limit of waiting calls
    /// is reached.
    pub(in crate::tasks) fn ask(&mut self, request: PendingRequest, can_be_suspended: bool, now: u64) {
        if self.permit.is_none() {
            match self.permits.acquire(&self.principal, self.held.now()) {
                Ok(permit) => self.permit = Some(permit),
                Err(limit) if can_be_suspended => self.limit = limit,
                Err(limit) => return request.refuse_over_limit(limit),
            }
        }
        match request {
            PendingRequest::Questions(questions) => self.ask_questions(questions, now),
            PendingRequest::ReverseCall(call) => self.ask_call(call, now),
        }
        self.forget_answered();
    }

    fn ask_call(&mut self, call: PendingReverseCall, now: u64) {
        let bytes = call.key.len() + call.fields.to_string().len();
        if !self.has_room_for(bytes) {
            let why = format!("what a task asks its client may have {MAX_STORED} bytes together");
            return call.answer(Err(AgentError::Failed(why)));
        }
        self.calls.ask(call, bytes, &mut self.asked, now);
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.batches.iter().map(|batch| batch.bytes).sum::<usize>() + self.calls.bytes() + bytes <= MAX_STORED
    }

    fn ask_questions(&mut self, questions: PendingQuestions, now: u64) {
        let requests = questions.requests(self.correlation.as_deref()).map_err(|error| error.message.into_owned());
        let written = requests.and_then(|mut requests| {
            let mut write = |key: &String| {
                let request = serde_json::to_value(requests.remove(key)).map_err(|error| error.to_string())?;
                Ok((key.clone(), request))
            };
            questions.questions().iter().map(|(key, _)| write(key)).collect::<Result<Vec<_>, String>>()
        });
        let written: Vec<(String, Value)> = match written {
            Ok(written) => written,
            Err(why) => return questions.answer(Err(ClientError::Failed(why))),
        };
        let bytes = written.iter().map(|(key, request)| key.len() + request.to_string().len()).sum();
        if !self.has_room_for(bytes) {
            let why = format!("the questions of a task may have {MAX_STORED} bytes together");
            return questions.answer(Err(ClientError::Failed(why)));
        }
        let mut earlier = InputResponses::default();
        let mut expires = now.saturating_add(millis(questions.timeout()));
        let mut ask = |(own, request): (String, Value)| {
            let asked = self.asked.ask(AskedKind::Question, questions.step(), &own, now, expires);
            expires = asked.expires;
            if let Some(answer) = asked.answer {
                earlier.insert(asked.key.clone(), answer);
            }
            Some((asked.key, request))
        };
        let requests: Vec<_> = written.into_iter().map(&mut ask).collect();
        let replies = requests.iter().map(|_| None).collect();
        self.batches.push(AskedBatch { questions, requests, replies, bytes, expires });
        if !earlier.is_empty() {
            self.answer(earlier);
        }
    }

    /// The calls of its client's tools that have no outcome.
    pub(in crate::tasks) fn outstanding_calls(&self) -> ShownCalls {
        self.calls.outstanding()
    }

    /// The questions that are not answered, by key.
    pub(in crate::tasks) fn outstanding(&self) -> Map<String, Value> {
        let earlier = self.earlier.iter().filter(|(key, _)| self.asked.is_open_earlier(AskedKind::Question, key));
        let earlier = earlier.map(|(key, request)| (key.clone(), request.clone()));
        earlier.chain(self.batches.iter().flat_map(|batch| batch.requests.iter().flatten().cloned())).collect()
    }

    /// Takes answers. Ignores those whose keys are neither outstanding now nor will be again.
    pub(in crate::tasks) fn answer(&mut self, mut answers: InputResponses) {
        self.asked.make_room();
        for batch in &mut self.batches {
            let AskedBatch { questions, requests, replies, .. } = batch;
            for (((_, question), request), reply) in questions.questions().iter().zip(requests).zip(replies) {
                let answer = request.as_ref().and_then(|(key, _)| Some((key.clone(), answers.remove(key)?)));
                if let Some((key, answer)) = answer {
                    self.asked.answered(&key, &answer);
                    *request = None;
                    *reply = Some(questions::reply_from_json(question, answer));
                }
            }
        }
        answers.iter().for_each(|(key, answer)| self.asked.answer_earlier(AskedKind::Question, key, answer));
        let (answered, batches) =
            std::mem::take(&mut self.batches).into_iter().partition(|batch| batch.requests.iter().all(Option::is_none));
        self.batches = batches;
        let answered: Vec<AskedBatch> = answered;
        for AskedBatch { questions, replies, .. } in answered {
            questions.answer(Ok(replies.into_iter().flatten().collect()));
        }
        self.forget_answered();
    }

    /// Takes outcomes of calls of its client's tools, by the same rule as [`Self::answer`].
    pub(in crate::tasks) fn answer_calls(&mut self, mut outcomes: Map<String, Value>) {
        self.asked.make_room();
        self.calls.answer(&mut outcomes, &mut self.asked);
        outcomes.iter().for_each(|(key, outcome)| self.asked.answer_earlier(AskedKind::Call, key, outcome));
        self.forget_answered();
    }

    /// When the next question or call times out, if there is one.
    pub(in crate::tasks) fn expires(&self) -> Option<u64> {
        self.batches.iter().map(|batch| batch.expires).chain(self.calls.expires()).min()
    }

    /// Returns when a guest has stopped waiting for its answers.
    pub(in crate::tasks) async fn abandoned(&mut self) {
        poll_fn(|context| {
            let questions = self.batches.iter_mut().any(|batch| batch.questions.poll_abandoned(context).is_ready());
            match questions || self.calls.has_abandoned(context) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Gives up the questions and calls that have timed out, and those whose guest has stopped waiting.
    pub(in crate::tasks) fn give_up(&mut self, now: u64) {
        let (over, batches): (Vec<_>, Vec<_>) = std::mem::take(&mut self.batches)
            .into_iter()
            .partition(|batch| batch.expires <= now || batch.questions.is_abandoned());
        self.batches = batches;
        for AskedBatch { questions, .. } in over {
            let timeout = millis(questions.timeout());
            questions.answer(Err(ClientError::Timeout(timeout)));
        }
        self.calls.give_up(now);
        self.forget_answered();
    }

    /// Refuses the questions that wait without a permit, since the limit of waiting calls is reached.
    pub(in crate::tasks) fn refuse_over_limit(&mut self) {
        for AskedBatch { questions, .. } in std::mem::take(&mut self.batches) {
            PendingRequest::Questions(questions).refuse_over_limit(self.limit);
        }
        self.calls.take().for_each(|call| PendingRequest::ReverseCall(call).refuse_over_limit(self.limit));
        self.forget_answered();
    }

    fn forget_answered(&mut self) {
        if !self.is_waiting() {
            self.permit = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use policy::{ParkedCallLimits, PluginId, Side};
    use runtime::imports::{Author, CheckedQuestion, QuestionBatch};
    use serde_json::json;
    use std::time::Duration;
    use tokio::sync::oneshot;

    const NOW: u64 = 1_000_000;

    type Answered = oneshot::Receiver<Result<Vec<ClientReply>, ClientError>>;

    fn questions(calls: usize) -> TaskQuestions {
        let limits = ParkedCallLimits { calls, per_principal: calls, ..ParkedCallLimits::default() };
        let permits = Arc::new(WaitPermits::new(limits));
        let (alice, asked) = (Principal::from_source("key", "alice"), AskedQuestions::default());
        TaskQuestions::new(permits, alice, None, HeldResources::default(), asked, Map::new())
    }

    fn ask(asked: &mut TaskQuestions, keys: &[&str], timeout: u64) -> Answered {
        ask_in(asked, None, keys, timeout)
    }

    fn ask_in(asked: &mut TaskQuestions, step: Option<&str>, keys: &[&str], timeout: u64) -> Answered {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let questions = keys.iter().map(|key| ((*key).to_owned(), CheckedQuestion::Roots)).collect();
        let (answer, answered) = oneshot::channel();
        let batch = QuestionBatch {
            plugin,
            author: Author::Plugin,
            questions,
            timeout: Duration::from_secs(timeout),
            step: step.map(str::to_owned),
        };
        asked.ask(PendingRequest::Questions(PendingQuestions::new(batch, answer)), false, NOW);
        answered
    }

    fn answers(keys: &[&str]) -> InputResponses {
        keys.iter().map(|key| ((*key).to_owned(), json!({ "roots": [] }))).collect()
    }

    fn keys(asked: &TaskQuestions) -> Vec<String> {
        asked.outstanding().keys().cloned().collect()
    }

    #[tokio::test]
    async fn partial_answers_leave_the_rest_and_other_keys_are_ignored() {
        let mut asked = questions(9);
        let mut first = ask(&mut asked, &["a", "b"], 9);
        let mut second = ask(&mut asked, &["c"], 9);
        assert_eq!(keys(&asked), ["a", "b", "c"]);
        asked.answer(answers(&["b", "nobody"]));
        assert_eq!(keys(&asked), ["a", "c"]);
        assert!(first.try_recv().is_err(), "the guest waits for all of its answers");
        asked.answer(answers(&["b", "c"]));
        assert_eq!(second.try_recv().unwrap().unwrap().len(), 1);
        asked.answer(answers(&["a"]));
        assert_eq!(first.try_recv().unwrap().unwrap().len(), 2);
        assert!(asked.outstanding().is_empty() && asked.permit.is_none());
    }

    #[tokio::test]
    async fn a_key_is_used_once_in_the_life_of_a_task() {
        let mut asked = questions(9);
        let _one = ask(&mut asked, &["sure"], 9);
        asked.answer(answers(&["sure"]));
        let mut two = ask(&mut asked, &["sure"], 9);
        assert_eq!(keys(&asked), ["sure-2"]);
        asked.answer(answers(&["sure"]));
        assert!(two.try_recv().is_err(), "a late answer to the first is not one to the second");
        asked.answer(answers(&["sure-2"]));
        two.try_recv().unwrap().unwrap();
    }

    /// A client that sees a task without a question takes the question for withdrawn.
    #[tokio::test]
    async fn what_was_open_stays_open_until_a_later_run_asks_it_again() {
        let mut first = questions(9);
        let _one = ask_in(&mut first, Some("1"), &["a", "b", "c"], 9);
        let _other = ask(&mut first, &["no step"], 9);
        first.answer(answers(&["c"]));
        let later = || {
            let asked = AskedQuestions::from_bytes(&first.asked.to_bytes()).unwrap();
            TaskQuestions { asked, earlier: first.outstanding(), ..questions(9) }
        };
        let mut second = later();
        assert_eq!(keys(&second), ["a", "b"], "nothing asks again what was not asked in a step");
        assert!(!second.is_waiting(), "the call does not wait yet");
        second.answer(answers(&["a"]));
        assert_eq!(keys(&second), ["b"], "it is answered before it is asked again");
        let mut again = ask_in(&mut second, Some("1"), &["a", "b", "c"], 9);
        assert_eq!(keys(&second), ["b"]);
        second.answer(answers(&["b"]));
        assert_eq!((again.try_recv().unwrap().unwrap().len(), keys(&second).len()), (3, 0));
        let mut third = later();
        let asked = ask_in(&mut third, Some("1"), &["a", "b", "c"], 9);
        drop(asked);
        third.give_up(NOW);
        assert!(keys(&third).is_empty(), "once it is asked again, it can be given up");
    }

    #[tokio::test]
    async fn questions_are_given_up_in_time_and_refused_over_the_limit() {
        let mut asked = questions(9);
        let (mut soon, mut later) = (ask(&mut asked, &["a"], 1), ask(&mut asked, &["b"], 60));
        let expires = asked.expires().unwrap();
        asked.give_up(expires);
        assert!(matches!(soon.try_recv(), Ok(Err(ClientError::Timeout(1_000)))));
        assert!(later.try_recv().is_err() && keys(&asked) == ["b"]);
        assert!(asked.abandoned().now_or_never().is_none(), "its guest waits for it");
        drop(later);
        asked.abandoned().await;
        asked.give_up(expires);
        assert!(keys(&asked).is_empty(), "its guest has given it up");
        assert!(asked.abandoned().now_or_never().is_none(), "there is nothing to give up");
        let mut none = questions(0);
        assert!(matches!(ask(&mut none, &["a"], 1).try_recv(), Ok(Err(ClientError::Exhausted(_)))));
    }
}
