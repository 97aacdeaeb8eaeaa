//! `client`: questions to the other side of a call. Authority, ceilings and form are checked here, before anything is
//! asked; answers are checked here before the guest sees them.

mod accept;
mod check;
mod connecting;
mod count;
mod form;
mod model;
mod question;
mod recorded;

pub use count::Questions;
pub use form::FormSchema;
pub use model::{ModelError, ModelProvider, Sampled, Tokens};
pub use question::{
    Abilities, Ability, Answer, Asked, Decision, FormAnswer, ModelPreferences, Question, Reply, Root, SampleAnswer,
    SampleContent, SampleMessage, SampleRequest, SampleTool, ToolChoice, ToolOutcome, ToolUse, UrlTarget,
};

use super::{Accounts, Budgeted, Doing, Exhaustion, GuestDenial, Permit};
use accept::{Unanswered, accept, complained};
use async_trait::async_trait;
use check::{checked_url, message_ok, sample_ok};
use futures::future::BoxFuture;
use platform::telemetry::{is_unsafe, printable};
use policy::{Denial, Hearer, Limits, PluginId};
use recorded::Putting;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A form that was not filled in as it wants is put again this often.
const ASK_AGAIN: usize = 3;
/// Questions asked together. Bounds what a user is shown at once.
const MAX_TOGETHER: usize = 16;
/// A question's name, in bytes.
const MAX_KEY: usize = 64;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientError {
    /// The client does not have it.
    Unsupported(Ability),
    /// Something the host does not have.
    NotOffered(String),
    /// Not granted.
    Denied(GuestDenial),
    /// Cannot be asked as it is.
    Invalid(String),
    /// The client's side refused the question itself.
    Declined(String),
    /// Put several times and never filled in as it wants.
    NotAnswered(String),
    /// Milliseconds.
    Timeout(u64),
    /// A ceiling.
    Exhausted(Exhaustion),
    /// The call is over.
    Cancelled,
    /// The client failed.
    Failed(String),
}

/// Questions that may be asked, together.
pub struct Inquiry {
    /// Who asks.
    pub plugin: PluginId,
    /// Key and question; keys are unique.
    pub questions: Vec<(String, Asked)>,
    /// Memory that the waiting call holds, in bytes.
    pub held: u64,
    /// How long the answers may take.
    pub patience: Duration,
}

/// Asks the other side of a call. Implemented by whoever the call came through.
#[async_trait]
pub trait ClientCalls: Send + Sync {
    /// What the other side can answer now; it may change while a call waits.
    fn abilities(&self) -> Abilities;
    /// Puts questions and waits for the replies, which come in the order of the questions.
    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError>;
    /// Waits for what only the user can do, elsewhere; how long is in `event`.
    async fn stand_by(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        event.await;
        Ok(())
    }
    /// Whether the host has a model of its own.
    fn has_model(&self) -> bool {
        false
    }
    /// Asks the host's own model, all requests at once; each has its own answer, in their order.
    async fn ask_model(
        &self,
        _requests: &[SampleRequest],
        _patience: Duration,
    ) -> Result<Vec<Result<Sampled, ModelError>>, ClientError> {
        Err(ClientError::NotOffered("a model of the host's own".into()))
    }
}

/// Nobody is there to ask.
#[derive(Debug, Clone, Copy)]
pub struct NoClient;

#[async_trait]
impl ClientCalls for NoClient {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn ask(&self, _inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        Err(ClientError::Failed("there is nobody to ask".into()))
    }
}

/// One call's way to its client.
pub struct Client {
    permit: Permit,
    calls: Arc<dyn ClientCalls>,
    accounts: Accounts,
    limits: Ceilings,
    questions: Questions,
    sampled: u32,
    tokens: u32,
    used: Tokens,
    lacked: Abilities,
    /// Which call this is, for the log.
    call: String,
}

/// Questions that may be asked, each with its place among those that the guest asks together.
#[derive(Default)]
struct Checked {
    to_client: Vec<(usize, String, Asked)>,
    to_model: Vec<(usize, SampleRequest)>,
}

/// Who answers a question.
enum Way {
    Client(Asked),
    Model(SampleRequest),
}

struct Ceilings {
    patience: Duration,
}

impl Client {
    /// For a call under this authority and these limits.
    pub fn new(permit: impl Into<Permit>, limits: &Limits, calls: Arc<dyn ClientCalls>, accounts: Accounts) -> Self {
        let permit = permit.into();
        let (limits, questions) = (Ceilings { patience: limits.answer }, Questions::new(limits.questions));
        let (used, lacked, call) = (Tokens::default(), Abilities::default(), String::new());
        Self { permit, calls, accounts, limits, questions, sampled: 0, tokens: 0, used, lacked, call }
    }

    /// The same, for the call of this id.
    pub fn of_call(mut self, id: &str) -> Self {
        id.clone_into(&mut self.call);
        self
    }

    /// What can be asked now.
    pub fn abilities(&self) -> Abilities {
        let abilities = self.calls.abilities();
        let fallback = self.permit.sample().is_ok_and(|grant| grant.fallback);
        if fallback && self.own_model() { abilities.with(Ability::SampleTools) } else { abilities }
    }

    /// Whether the host's own model stands in: only for a client that has none at all.
    fn own_model(&self) -> bool {
        !self.calls.abilities().sample && self.calls.has_model()
    }

    /// Who asks; for calls nested in this one.
    pub fn calls(&self) -> Arc<dyn ClientCalls> {
        self.calls.clone()
    }

    /// What the call wanted to ask and could not, for want of an ability of the client's.
    pub fn lacked(&self) -> Abilities {
        self.lacked
    }

    /// Questions put, re-asking included.
    pub fn asked(&self) -> u32 {
        self.questions.asked()
    }

    /// The same count, for questions that are put on behalf of the call.
    pub fn questions(&self) -> Questions {
        self.questions.clone()
    }

    /// Tokens of the host's own model.
    pub fn model_tokens(&self) -> u64 {
        self.used.total()
    }

    /// Asks one or more questions and waits for all answers, in their order. `held` is the memory that the call holds
    /// while it waits.
    pub async fn ask(
        &mut self,
        questions: Vec<(Option<String>, Question)>,
        held: u64,
    ) -> Result<Vec<Answer>, ClientError> {
        let checked = self.check(questions).await;
        let refused = |error: &ClientError| Doing::begin(self.permit.trail(), "client.ask").ended(error.name());
        let checked = checked.inspect_err(refused)?;
        let putting = Putting::new(self.permit.trail().clone(), &checked);
        let result = self.put(checked, held).await;
        putting.answered(&result);
        result
    }

    /// Puts questions that may be put.
    async fn put(&mut self, checked: Checked, held: u64) -> Result<Vec<Answer>, ClientError> {
        let Checked { to_client: mut open, to_model } = checked;
        let mut answers: Vec<Option<Answer>> = vec![None; open.len() + to_model.len()];
        // First, so that nobody is bothered for a call that cannot go on.
        if !to_model.is_empty() {
            self.ask_model(to_model, &mut answers).await?;
        }
        let mut complaint = String::new();
        for _ in 0..=ASK_AGAIN {
            if open.is_empty() {
                break;
            }
            self.count(open.len())?;
            let questions = open.iter().map(|(_, key, asked)| (key.clone(), asked.clone())).collect();
            let plugin = self.permit.plugin().clone();
            let inquiry = Inquiry { plugin, questions, held, patience: self.limits.patience };
            let replies = self.calls.ask(inquiry).await?;
            let mut again = Vec::new();
            for ((at, key, asked), reply) in std::mem::take(&mut open).into_iter().zip(replies) {
                let answer = match accept(&asked, reply)? {
                    Ok(Answer::Url(Decision::Accept)) => self.settled(&asked).await?,
                    answer => answer,
                };
                match answer {
                    Ok(answer) => answers[at] = Some(answer),
                    Err(Unanswered { reason, tell }) => {
                        again.push((at, key, if tell { complained(asked, &reason) } else { asked }));
                        complaint = reason;
                    }
                }
            }
            open = again;
        }
        if open.is_empty() {
            Ok(answers.into_iter().flatten().collect())
        } else {
            Err(ClientError::NotAnswered(complaint))
        }
    }

    /// Has the host's own model answer. One line of the log for each request says who asked and what it took, never
    /// what was said.
    async fn ask_model(
        &mut self,
        asked: Vec<(usize, SampleRequest)>,
        answers: &mut [Option<Answer>],
    ) -> Result<(), ClientError> {
        self.count(asked.len())?;
        let (places, requests): (Vec<usize>, Vec<SampleRequest>) = asked.into_iter().unzip();
        let mut failed = None;
        for (at, result) in places.into_iter().zip(self.calls.ask_model(&requests, self.limits.patience).await?) {
            let (plugin, call) = (self.permit.plugin(), &self.call);
            match result {
                Ok(Sampled { answer, tokens }) => {
                    let (model, Tokens { input, output }) = (printable(&answer.model), tokens);
                    tracing::info!(%plugin, call, %model, input, output, "the host's own model was asked");
                    self.used.input = self.used.input.saturating_add(input);
                    self.used.output = self.used.output.saturating_add(output);
                    answers[at] = Some(Answer::Sample(answer));
                }
                Err(error) => {
                    tracing::warn!(%plugin, call, "asking the host's own model: {}", printable(&error.to_string()));
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Everything that can be said about questions before they are asked.
    async fn check(&mut self, questions: Vec<(Option<String>, Question)>) -> Result<Checked, ClientError> {
        let invalid = |text: String| Err(ClientError::Invalid(text));
        if questions.is_empty() || questions.len() > MAX_TOGETHER {
            return invalid(format!("1 to {MAX_TOGETHER} questions can be asked together, not {}", questions.len()));
        }
        let mut keys = HashSet::new();
        let mut checked = Checked::default();
        for (at, (key, question)) in questions.into_iter().enumerate() {
            let key = key.unwrap_or_else(|| format!("question-{}", self.asked() as usize + at + 1));
            if key.is_empty() || key.len() > MAX_KEY || key.chars().any(is_unsafe) {
                return invalid(format!("a question's key must be 1 to {MAX_KEY} printable bytes"));
            }
            if !keys.insert(key.clone()) {
                return invalid(format!("two questions have the key {key:?}"));
            }
            match self.allow(question).await? {
                Way::Client(asked) => checked.to_client.push((at, key, asked)),
                Way::Model(request) => checked.to_model.push((at, request)),
            }
        }
        Ok(checked)
    }

    /// Whether one question may be asked of this client, by this plugin, as it is; otherwise of the host's own model.
    async fn allow(&mut self, question: Question) -> Result<Way, ClientError> {
        let asked = match question {
            Question::Form { message, schema } => {
                self.granted(self.permit.form())?;
                message_ok(&message)?;
                let schema = FormSchema::new(&schema).map_err(ClientError::Invalid)?;
                self.able(Ability::Form)?;
                Asked::Form { message, schema }
            }
            Question::Url { message, target } => {
                message_ok(&message)?;
                let (url, connect) = match target {
                    UrlTarget::Address(address) => {
                        let url = checked_url(&address)?;
                        self.granted(self.permit.url(url.host_str().unwrap_or_default()))?;
                        self.able(Ability::Url)?;
                        (url.into(), None)
                    }
                    UrlTarget::Connect(connection) => {
                        self.granted(self.permit.connection(&connection))?;
                        self.able(Ability::Url)?;
                        (self.accounts.page(&connection)?, Some(connection))
                    }
                };
                Asked::Url { message, url, connect }
            }
            Question::Sample(request) => {
                let grant = self.permit.sample();
                self.granted(grant.as_ref().map(|_| ()).map_err(Clone::clone))?;
                let grant = grant.unwrap_or_default();
                sample_ok(&request)?;
                let own = grant.fallback && self.own_model();
                if own {
                    self.accounts.may_tell(&Hearer::HostModel).map_err(ClientError::Denied)?;
                } else {
                    self.able(if request.tools.is_empty() { Ability::Sample } else { Ability::SampleTools })?;
                }
                if self.sampled >= grant.calls {
                    return Err(exhausted(Budgeted::Calls, grant.calls));
                }
                if self.tokens.saturating_add(request.max_tokens) > grant.tokens {
                    return Err(exhausted(Budgeted::Tokens, grant.tokens));
                }
                self.sampled += 1;
                self.tokens += request.max_tokens;
                if own {
                    return Ok(Way::Model(request));
                }
                Asked::Sample(request)
            }
            Question::Roots => {
                self.granted(self.permit.roots())?;
                self.able(Ability::Roots)?;
                Asked::Roots
            }
        };
        Ok(Way::Client(asked))
    }

    fn granted(&self, verdict: Result<(), Denial>) -> Result<(), ClientError> {
        self.permit.decided(verdict).map_err(ClientError::Denied)
    }

    fn able(&mut self, ability: Ability) -> Result<(), ClientError> {
        if self.calls.abilities().has(ability) {
            return Ok(());
        }
        self.lacked = self.lacked.with(ability);
        Err(ClientError::Unsupported(ability))
    }

    fn count(&mut self, more: usize) -> Result<(), ClientError> {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        self.questions.count(more).map_err(ClientError::Exhausted)
    }
}

fn exhausted(budget: Budgeted, limit: u32) -> ClientError {
    ClientError::Exhausted(Exhaustion { budget, limit: limit.into() })
}

#[cfg(test)]
mod tests;
