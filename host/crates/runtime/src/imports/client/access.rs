//! One call's access to its client. Authority, limits and form are checked here, before anything is asked; answers are
//! checked here before the guest sees them.

use super::super::call_scope::CallScope;
use super::super::connections::Accounts;
use super::super::import_span::ImportSpan;
use super::super::types::{BudgetKind, Exhaustion};
use super::accept::{accept, ask_again};
use super::check::{CheckedQuestions, Respondent, checked_url, message_ok, sample_ok};
use super::client_calls::{Author, ClientCalls, QuestionBatch};
use super::error::ClientError;
use super::form::FormSchema;
use super::model::{ModelAnswer, TokenUsage};
use super::question::{Abilities, Ability, CheckedQuestion, ClientAnswer, Consent, Question, SampleRequest, UrlTarget};
use super::question_counter::count_questions;
use super::question_record::QuestionRecord;
use crate::journal::CallJournal;
use platform::telemetry::{is_unsafe, printable};
use policy::{Denial, Recipient, SampleLimit};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How often a question is asked again after an invalid answer.
pub(super) const ASK_AGAIN: usize = 3;
/// Number of questions asked together. Bounds what a user is shown at once.
const MAX_TOGETHER: usize = 16;
/// Length of a question's key in bytes.
const MAX_KEY: usize = 64;

/// One call's access to its client.
pub struct Client {
    scope: Arc<CallScope>,
    pub(super) calls: Arc<dyn ClientCalls>,
    pub(super) accounts: Accounts,
    /// Questions of its own, repetitions included.
    pub(super) asked: usize,
    used: TokenUsage,
    lacked: Abilities,
    pub(super) journal: CallJournal,
}

/// What a call has asked, and what it has used and lacked for that.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct ClientUsage {
    asked: usize,
    used: TokenUsage,
    lacked: Abilities,
}

impl Client {
    pub fn new(scope: Arc<CallScope>, calls: Arc<dyn ClientCalls>, accounts: Accounts, journal: CallJournal) -> Self {
        let (used, lacked) = (TokenUsage::default(), Abilities::default());
        Self { scope, calls, accounts, asked: 0, used, lacked, journal }
    }

    /// How long an answer may take.
    pub(super) fn answer_timeout(&self) -> Duration {
        self.scope.limits.answer_timeout
    }

    pub fn abilities(&self) -> Abilities {
        let abilities = self.calls.abilities();
        let fallback = self.scope.authority.sample().is_ok_and(|grant| grant.fallback);
        if fallback && self.uses_host_model() { abilities.with(Ability::SampleTools) } else { abilities }
    }

    /// Whether the host's model is used: only for a client that has none.
    fn uses_host_model(&self) -> bool {
        !self.calls.abilities().sample && self.calls.has_model()
    }

    /// Abilities that the call needed and the client lacks.
    pub fn lacked(&self) -> Abilities {
        self.lacked
    }

    /// Tokens of the host's model that the call has used.
    pub fn model_tokens(&self) -> u64 {
        self.used.total()
    }

    pub(crate) fn usage(&self) -> ClientUsage {
        ClientUsage { asked: self.asked, used: self.used, lacked: self.lacked }
    }

    /// Continues from what an earlier run has asked and used.
    pub(crate) fn catch_up(&mut self, ClientUsage { asked, used, lacked }: ClientUsage) {
        (self.asked, self.used, self.lacked) = (asked, used, lacked);
    }

    /// Asks questions and returns the answers in their order.
    pub async fn ask(&mut self, questions: Vec<(Option<String>, Question)>) -> Result<Vec<ClientAnswer>, ClientError> {
        let checked = self.check(questions).await;
        let refused =
            |error: &ClientError| ImportSpan::start(self.scope.authority.audit(), "client.ask").finish(error.name());
        let checked = checked.inspect_err(refused)?;
        let record = QuestionRecord::new(self.scope.authority.audit().clone(), &checked);
        let result = self.put(checked).await;
        record.answered(&result);
        result
    }

    /// Asks checked questions.
    async fn put(&mut self, checked: CheckedQuestions) -> Result<Vec<ClientAnswer>, ClientError> {
        let CheckedQuestions { to_client: mut open, to_model } = checked;
        let mut answers: Vec<Option<ClientAnswer>> = vec![None; open.len() + to_model.len()];
        // The model first, so that no user is asked for a call that fails anyway.
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
            let plugin = self.scope.authority.plugin().clone();
            let inquiry =
                QuestionBatch { plugin, author: Author::Plugin, questions, timeout: self.answer_timeout(), step: None };
            let replies = self.calls.ask(inquiry).await?;
            let mut again = Vec::new();
            for ((at, key, asked), reply) in std::mem::take(&mut open).into_iter().zip(replies) {
                let answer = match accept(&asked, reply)? {
                    Ok(ClientAnswer::Url(Consent::Accept)) => self.settle_url(&asked).await?,
                    answer => answer,
                };
                match answer {
                    Ok(answer) => answers[at] = Some(answer),
                    Err(unanswered) => {
                        again.push((at, key, ask_again(asked, &unanswered)));
                        complaint = unanswered.reason;
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

    /// Asks the host's model. The log says who asked and how many tokens it took, never the content.
    async fn ask_model(
        &mut self,
        asked: Vec<(usize, SampleRequest)>,
        answers: &mut [Option<ClientAnswer>],
    ) -> Result<(), ClientError> {
        self.count(asked.len())?;
        let (indices, requests): (Vec<usize>, Vec<SampleRequest>) = asked.into_iter().unzip();
        let mut failed = None;
        for (at, result) in indices.into_iter().zip(self.calls.ask_model(&requests, self.answer_timeout()).await?) {
            let (plugin, call) = (self.scope.authority.plugin(), &*self.scope.context.id);
            match result {
                Ok(ModelAnswer { answer, tokens }) => {
                    let (model, TokenUsage { input, output }) = (printable(&answer.model), tokens);
                    tracing::info!(%plugin, call, %model, input, output, "the host's own model was asked");
                    self.used.input = self.used.input.saturating_add(input);
                    self.used.output = self.used.output.saturating_add(output);
                    answers[at] = Some(ClientAnswer::Sample(answer));
                }
                Err(error) => {
                    tracing::warn!(%plugin, call, "asking the host's own model: {}", printable(&error.to_string()));
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Checks all questions before any is asked.
    async fn check(&mut self, questions: Vec<(Option<String>, Question)>) -> Result<CheckedQuestions, ClientError> {
        let invalid = |text: String| Err(ClientError::Invalid(text));
        if questions.is_empty() || questions.len() > MAX_TOGETHER {
            return invalid(format!("1 to {MAX_TOGETHER} questions can be asked together, not {}", questions.len()));
        }
        let mut keys = HashSet::new();
        let mut checked = CheckedQuestions::default();
        for (at, (key, question)) in questions.into_iter().enumerate() {
            let key = key.unwrap_or_else(|| format!("question-{}", self.asked + at + 1));
            if key.is_empty() || key.len() > MAX_KEY || key.chars().any(is_unsafe) {
                return invalid(format!("a question's key must be 1 to {MAX_KEY} printable bytes"));
            }
            if !keys.insert(key.clone()) {
                return invalid(format!("two questions have the key {key:?}"));
            }
            match self.allow(question).await? {
                Respondent::Client(asked) => checked.to_client.push((at, key, asked)),
                Respondent::Model(request) => checked.to_model.push((at, request)),
            }
        }
        Ok(checked)
    }

    /// Checks one question, and decides whether the client or the host's model answers it.
    async fn allow(&mut self, question: Question) -> Result<Respondent, ClientError> {
        let asked = match question {
            Question::Form { message, schema } => {
                self.granted(self.scope.authority.form())?;
                message_ok(&message)?;
                let schema = FormSchema::new(&schema).map_err(ClientError::Invalid)?;
                self.require_ability(Ability::Form)?;
                CheckedQuestion::Form { message, schema }
            }
            Question::Url { message, target } => {
                message_ok(&message)?;
                let (url, connect) = match target {
                    UrlTarget::Address(address) => {
                        let url = checked_url(&address)?;
                        let host = url.host_str().unwrap_or_default();
                        self.granted(self.scope.authority.url(host))?;
                        // The user's browser takes the address there.
                        let to = Recipient::Http(host.to_owned());
                        self.scope.check_flow(&to).map_err(ClientError::Denied)?;
                        self.require_ability(Ability::Url)?;
                        (url.into(), None)
                    }
                    UrlTarget::Connect(connection) => {
                        self.granted(self.scope.authority.connection(&connection))?;
                        self.require_ability(Ability::Url)?;
                        (self.accounts.page(&connection)?, Some(connection))
                    }
                };
                CheckedQuestion::Url { message, url, connect }
            }
            Question::Sample(request) => {
                let grant = self.scope.authority.sample();
                self.granted(grant.as_ref().map(|_| ()).map_err(Clone::clone))?;
                let grant = grant.unwrap_or_default();
                sample_ok(&request)?;
                let own = grant.fallback && self.uses_host_model();
                if own {
                    self.scope.check_flow(&Recipient::HostModel).map_err(ClientError::Denied)?;
                } else {
                    self.require_ability(if request.tools.is_empty() {
                        Ability::Sample
                    } else {
                        Ability::SampleTools
                    })?;
                }
                self.scope.lineage.count_sample(&grant, request.max_tokens).map_err(sample_exhausted)?;
                if own {
                    return Ok(Respondent::Model(request));
                }
                CheckedQuestion::Sample(request)
            }
            Question::Roots => {
                self.granted(self.scope.authority.roots())?;
                self.require_ability(Ability::Roots)?;
                CheckedQuestion::Roots
            }
        };
        Ok(Respondent::Client(asked))
    }

    fn granted(&self, verdict: Result<(), Denial>) -> Result<(), ClientError> {
        self.scope.authority.enforce(verdict).map_err(ClientError::Denied)
    }

    fn require_ability(&mut self, ability: Ability) -> Result<(), ClientError> {
        if self.calls.abilities().has(ability) {
            return Ok(());
        }
        self.lacked = self.lacked.with(ability);
        Err(ClientError::Unsupported(ability))
    }

    fn count(&mut self, more: usize) -> Result<(), ClientError> {
        count_questions(&self.scope.lineage, more).map_err(ClientError::Exhausted)?;
        self.asked += more;
        Ok(())
    }
}

fn sample_exhausted(reached: SampleLimit) -> ClientError {
    let (budget, limit) = match reached {
        SampleLimit::Calls(limit) => (BudgetKind::Calls, limit),
        SampleLimit::Tokens(limit) => (BudgetKind::Tokens, limit),
    };
    ClientError::Exhausted(Exhaustion { budget, limit: limit.into() })
}
