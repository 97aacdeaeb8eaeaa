//! `client`: questions to the other side of a call. Authority, ceilings and form are checked here, before anything is
//! asked; answers are checked here before the guest sees them.

mod form;
mod question;

pub use form::FormSchema;
pub use question::{
    Abilities, Ability, Answer, Asked, Decision, FormAnswer, ModelPreferences, Question, Reply, Root, SampleAnswer,
    SampleContent, SampleMessage, SampleRequest, SampleTool, ToolChoice, ToolOutcome, ToolUse, UrlTarget,
};

use super::{Budgeted, Exhaustion, GuestDenial};
use crate::policy::{Authority, Denial, Limits, PluginId};
use crate::telemetry::{is_unsafe, printable};
use async_trait::async_trait;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A form that was not filled in as it wants is put again this often.
const ASK_AGAIN: usize = 3;
/// Questions asked together. Bounds what a user is shown at once.
const MAX_TOGETHER: usize = 16;
/// A message for a user, in bytes. Bounds what a client has to show.
const MAX_MESSAGE: usize = 4 << 10;
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
    /// The page on which the call's user connects an account.
    async fn connect_page(&self, _connection: &str) -> Result<String, ClientError> {
        Err(ClientError::NotOffered("connections".into()))
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
    authority: Arc<Authority>,
    calls: Arc<dyn ClientCalls>,
    limits: Ceilings,
    asked: u32,
    sampled: u32,
    tokens: u32,
    lacked: Abilities,
}

struct Ceilings {
    questions: u32,
    patience: Duration,
}

impl Client {
    /// For a call under this authority and these limits.
    pub fn new(authority: Arc<Authority>, limits: &Limits, calls: Arc<dyn ClientCalls>) -> Self {
        let limits = Ceilings { questions: limits.questions, patience: limits.answer };
        Self { authority, calls, limits, asked: 0, sampled: 0, tokens: 0, lacked: Abilities::default() }
    }

    /// What can be asked now.
    pub fn abilities(&self) -> Abilities {
        self.calls.abilities()
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
        self.asked
    }

    /// Asks one or more questions and waits for all answers, in their order. `held` is the memory that the call holds
    /// while it waits.
    pub async fn ask(
        &mut self,
        questions: Vec<(Option<String>, Question)>,
        held: u64,
    ) -> Result<Vec<Answer>, ClientError> {
        let mut open = self.check(questions).await?;
        let mut answers: Vec<Option<Answer>> = open.iter().map(|_| None).collect();
        let mut complaint = String::new();
        for _ in 0..=ASK_AGAIN {
            self.count(&open)?;
            let questions = open.iter().map(|(_, key, asked)| (key.clone(), asked.clone())).collect();
            let plugin = self.authority.plugin().clone();
            let inquiry = Inquiry { plugin, questions, held, patience: self.limits.patience };
            let replies = self.calls.ask(inquiry).await?;
            let mut again = Vec::new();
            for ((at, key, asked), reply) in std::mem::take(&mut open).into_iter().zip(replies) {
                match accept(&asked, reply)? {
                    Ok(answer) => answers[at] = Some(answer),
                    Err(Unanswered { reason, tell }) => {
                        again.push((at, key, if tell { complained(asked, &reason) } else { asked }));
                        complaint = reason;
                    }
                }
            }
            if again.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            open = again;
        }
        Err(ClientError::NotAnswered(complaint))
    }

    /// Everything that can be said about questions before they are asked.
    async fn check(
        &mut self,
        questions: Vec<(Option<String>, Question)>,
    ) -> Result<Vec<(usize, String, Asked)>, ClientError> {
        let invalid = |text: String| Err(ClientError::Invalid(text));
        if questions.is_empty() || questions.len() > MAX_TOGETHER {
            return invalid(format!("1 to {MAX_TOGETHER} questions can be asked together, not {}", questions.len()));
        }
        let mut keys = HashSet::new();
        let mut checked = Vec::with_capacity(questions.len());
        for (at, (key, question)) in questions.into_iter().enumerate() {
            let key = key.unwrap_or_else(|| format!("question-{}", self.asked as usize + at + 1));
            if key.is_empty() || key.len() > MAX_KEY || key.chars().any(is_unsafe) {
                return invalid(format!("a question's key must be 1 to {MAX_KEY} printable bytes"));
            }
            if !keys.insert(key.clone()) {
                return invalid(format!("two questions have the key {key:?}"));
            }
            checked.push((at, key, self.allow(question).await?));
        }
        Ok(checked)
    }

    /// Whether one question may be asked of this client, by this plugin, as it is.
    async fn allow(&mut self, question: Question) -> Result<Asked, ClientError> {
        match question {
            Question::Form { message, schema } => {
                self.granted(self.authority.form())?;
                message_ok(&message)?;
                let schema = FormSchema::new(&schema).map_err(ClientError::Invalid)?;
                self.able(Ability::Form)?;
                Ok(Asked::Form { message, schema })
            }
            Question::Url { message, target } => {
                message_ok(&message)?;
                let url = match target {
                    UrlTarget::Address(address) => {
                        let url = checked_url(&address)?;
                        self.granted(self.authority.url(url.host_str().unwrap_or_default()))?;
                        self.able(Ability::Url)?;
                        url.into()
                    }
                    UrlTarget::Connect(connection) => {
                        self.granted(self.authority.connection(&connection))?;
                        self.able(Ability::Url)?;
                        self.calls.connect_page(&connection).await?
                    }
                };
                Ok(Asked::Url { message, url })
            }
            Question::Sample(request) => {
                let grant = self.authority.sample();
                self.granted(grant.as_ref().map(|_| ()).map_err(Clone::clone))?;
                let grant = grant.unwrap_or_default();
                sample_ok(&request)?;
                self.able(if request.tools.is_empty() { Ability::Sample } else { Ability::SampleTools })?;
                if self.sampled >= grant.calls {
                    return Err(exhausted(Budgeted::Calls, grant.calls));
                }
                if self.tokens.saturating_add(request.max_tokens) > grant.tokens {
                    return Err(exhausted(Budgeted::Tokens, grant.tokens));
                }
                self.sampled += 1;
                self.tokens += request.max_tokens;
                Ok(Asked::Sample(request))
            }
            Question::Roots => {
                self.granted(self.authority.roots())?;
                self.able(Ability::Roots)?;
                Ok(Asked::Roots)
            }
        }
    }

    fn granted(&self, verdict: Result<(), Denial>) -> Result<(), ClientError> {
        verdict.map_err(|denial| {
            tracing::warn!(plugin = %self.authority.plugin(), "{}", printable(&denial.to_string()));
            ClientError::Denied((&denial).into())
        })
    }

    fn able(&mut self, ability: Ability) -> Result<(), ClientError> {
        if self.calls.abilities().has(ability) {
            return Ok(());
        }
        self.lacked = self.lacked.with(ability);
        Err(ClientError::Unsupported(ability))
    }

    fn count(&mut self, open: &[(usize, String, Asked)]) -> Result<(), ClientError> {
        let more = u32::try_from(open.len()).unwrap_or(u32::MAX);
        if self.asked.saturating_add(more) > self.limits.questions {
            return Err(exhausted(Budgeted::Questions, self.limits.questions));
        }
        self.asked += more;
        Ok(())
    }
}

/// A question that is to be put again.
struct Unanswered {
    reason: String,
    /// Whether the user should be told why.
    tell: bool,
}

/// The answer in a reply, if there is one.
fn accept(asked: &Asked, reply: Reply) -> Result<Result<Answer, Unanswered>, ClientError> {
    let again = |reason: String, tell| Ok(Err(Unanswered { reason, tell }));
    match (asked, reply) {
        (Asked::Form { schema, .. }, Reply::Form(Decision::Accept, content)) => {
            let mut content = content.unwrap_or_else(|| serde_json::Value::Object(Default::default()));
            // A guest sees the same, whichever client it was and however that orders its fields.
            content.sort_all_objects();
            match schema.check(&content) {
                Ok(()) => Ok(Ok(Answer::Form(FormAnswer::Accepted(content.to_string())))),
                Err(reason) => again(reason, true),
            }
        }
        (Asked::Form { .. }, Reply::Form(Decision::Decline, _)) => Ok(Ok(Answer::Form(FormAnswer::Declined))),
        (Asked::Form { .. }, Reply::Form(Decision::Cancel, _)) => Ok(Ok(Answer::Form(FormAnswer::Cancelled))),
        // On the wire both kinds of elicitation have one kind of answer.
        (Asked::Url { .. }, Reply::Url(decision) | Reply::Form(decision, _)) => Ok(Ok(Answer::Url(decision))),
        (Asked::Sample(_), Reply::Sample(answer)) => Ok(Ok(Answer::Sample(answer))),
        (Asked::Roots, Reply::Roots(roots)) => Ok(Ok(Answer::Roots(roots))),
        (_, Reply::Missing(reason)) => again(reason, false),
        (_, Reply::Refused(reason)) => Err(ClientError::Declined(reason)),
        (_, Reply::Failed(reason)) => Err(ClientError::Failed(reason)),
        _ => again("the client answered another kind of question".into(), false),
    }
}

fn complained(asked: Asked, reason: &str) -> Asked {
    const MARK: &str = "\n\nThe last answer was not accepted: ";
    match asked {
        Asked::Form { message, schema } => {
            let first = message.split(MARK).next().unwrap_or_default();
            Asked::Form { message: format!("{first}{MARK}{reason}"), schema }
        }
        other => other,
    }
}

fn exhausted(budget: Budgeted, limit: u32) -> ClientError {
    ClientError::Exhausted(Exhaustion { budget, limit: limit.into() })
}

/// A guest's text that a person will read: no tricks with invisible characters, not endless.
fn message_ok(message: &str) -> Result<(), ClientError> {
    let bad = message.chars().find(|&c| is_unsafe(c) && c != '\n' && c != '\t');
    if message.len() > MAX_MESSAGE {
        return Err(ClientError::Invalid(format!("the message is {} bytes, more than {MAX_MESSAGE}", message.len())));
    }
    match bad {
        Some(c) => {
            let text = format!("the message has the control or invisible character {}", c.escape_unicode());
            Err(ClientError::Invalid(text))
        }
        None => Ok(()),
    }
}

/// An address that a user may be sent to: `https:`, or `http:` to this very machine; without credentials.
fn checked_url(address: &str) -> Result<url::Url, ClientError> {
    let invalid = |reason: &str| ClientError::Invalid(format!("the address {:?} {reason}", printable(address)));
    let url = url::Url::parse(address).map_err(|error| invalid(&format!("is not a URL: {error}")))?;
    let loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1"));
    if !(url.scheme() == "https" || url.scheme() == "http" && loopback) {
        return Err(invalid("must be https:"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not have credentials in it"));
    }
    if address.len() > MAX_MESSAGE {
        return Err(invalid("is too long"));
    }
    Ok(url)
}

fn sample_ok(request: &SampleRequest) -> Result<(), ClientError> {
    let invalid = |text: &str| Err(ClientError::Invalid(text.to_owned()));
    if request.messages.is_empty() || request.messages.iter().any(|message| message.content.is_empty()) {
        return invalid("a request to a model needs messages, each with content");
    }
    if request.max_tokens == 0 {
        return invalid("max-tokens must be at least 1");
    }
    if request.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        return invalid("temperature must be between 0 and 2");
    }
    for tool in &request.tools {
        if let Err(error) = super::Schema::compile(&tool.input_schema) {
            return Err(ClientError::Invalid(format!("the input schema of tool {:?} is refused: {error}", tool.name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
