//! A client that answers by script.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::Value;

use super::state::{self, with};
use crate::Role;
use crate::bindings::portcullis::plugin::client as wit;
use crate::client::{Abilities, Answer, ClientError, Consent, Root, SampleAnswer, SampleContent};

pub use crate::bindings::portcullis::plugin::client::SampleRequest;

/// One question that was put, whether it was answered or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The key, when the tool chose one.
    pub key: Option<String>,
    /// The question.
    pub question: AskedQuestion,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few of them")]
pub enum AskedQuestion {
    /// [`client::form`](crate::client::form), [`raw_form`](crate::client::raw_form) or
    /// [`confirm`](crate::client::confirm).
    Form {
        /// What the user reads above the form.
        message: String,
        /// JSON Schema of the answer.
        schema: Value,
    },
    /// [`client::open_url`](crate::client::open_url)
    Url {
        /// What the user reads.
        message: String,
        /// The page.
        address: String,
    },
    /// [`client::connect`](crate::client::connect)
    Connect {
        /// What the user reads.
        message: String,
        /// The connection's name.
        connection: String,
    },
    /// [`client::sample`](crate::client::sample)
    Sample(SampleRequest),
    /// [`client::roots`](crate::client::roots)
    Roots,
}

impl Asked {
    /// What the user reads, or the last text of the conversation for a model.
    pub fn message(&self) -> &str {
        match &self.question {
            AskedQuestion::Form { message, .. }
            | AskedQuestion::Url { message, .. }
            | AskedQuestion::Connect { message, .. } => message,
            AskedQuestion::Sample(request) => {
                let contents = request.messages.iter().flat_map(|message| &message.content);
                let mut texts = contents.filter_map(|content| match content {
                    SampleContent::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                texts.next_back().unwrap_or_default()
            }
            AskedQuestion::Roots => "",
        }
    }
}

type Handler<A> = Rc<RefCell<dyn FnMut(&Asked) -> Result<A, ClientError>>>;

/// Answers to one kind of question: first those in the queue, then what the closure says. Without either the client does
/// not support such questions.
pub(super) struct Script<A> {
    pub(super) queue: VecDeque<A>,
    pub(super) rest: Option<Handler<A>>,
    supported: bool,
}

impl<A> Default for Script<A> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), rest: None, supported: false }
    }
}

impl<A> Script<A> {
    pub(super) fn push(&mut self, answer: A) {
        self.supported = true;
        self.queue.push_back(answer);
    }

    pub(super) fn answer_by(&mut self, closure: impl FnMut(&Asked) -> Result<A, ClientError> + 'static) {
        self.supported = true;
        self.rest = Some(Rc::new(RefCell::new(closure)));
    }
}

/// What the client was asked and how it answers.
#[derive(Default)]
pub(super) struct Client {
    pub(super) asked: Vec<Asked>,
    pub(super) forms: Script<Answer<Value>>,
    pub(super) pages: Script<Consent>,
    pub(super) samples: Script<SampleAnswer>,
    pub(super) roots: Script<Vec<Root>>,
}

pub(crate) fn supported() -> Abilities {
    with(|state| {
        let client = &state.client;
        Abilities {
            form: client.forms.supported,
            url: client.pages.supported,
            sample: client.samples.supported,
            sample_tools: client.samples.supported,
            roots: client.roots.supported,
        }
    })
}

pub(crate) fn ask(key: Option<&str>, question: wit::Question) -> Result<wit::Answer, ClientError> {
    let question = match question {
        wit::Question::Form(form) => {
            let schema = serde_json::from_str(&form.schema)
                .map_err(|error| ClientError::Invalid(format!("the schema is not JSON: {error}")))?;
            AskedQuestion::Form { message: form.message, schema }
        }
        wit::Question::Url(url) => match url.target {
            wit::UrlTarget::Address(address) => AskedQuestion::Url { message: url.message, address },
            wit::UrlTarget::Connect(connection) => AskedQuestion::Connect { message: url.message, connection },
        },
        wit::Question::Sample(request) => AskedQuestion::Sample(request),
        wit::Question::Roots => AskedQuestion::Roots,
    };
    let asked = Asked { key: key.map(ToOwned::to_owned), question };
    match &asked.question {
        AskedQuestion::Form { schema, .. } => {
            let answer = answer(&asked, "client.form", "a form", "elicitation.form", |client| &mut client.forms)?;
            form_answer(schema, answer).map(wit::Answer::Form)
        }
        AskedQuestion::Url { address, .. } => {
            if !address.starts_with("https:") {
                return Err(ClientError::Invalid(format!("`{address}` does not start with https:")));
            }
            answer(&asked, "client.url", address, "elicitation.url", |client| &mut client.pages).map(wit::Answer::Url)
        }
        AskedQuestion::Connect { connection, .. } => {
            let consent = answer(&asked, "connections", connection, "elicitation.url", |client| &mut client.pages)?;
            if consent == Consent::Accepted {
                super::connections::connect(connection);
            }
            Ok(wit::Answer::Url(consent))
        }
        AskedQuestion::Sample(_) => {
            answer(&asked, "client.sample", "the client's model", "sampling", |client| &mut client.samples)
                .map(wit::Answer::Sample)
        }
        AskedQuestion::Roots => {
            answer(&asked, "client.roots", "the client's roots", "roots", |client| &mut client.roots)
                .map(wit::Answer::Roots)
        }
    }
}

pub(crate) fn ask_many(questions: Vec<wit::KeyedQuestion>) -> Result<Vec<wit::Answer>, ClientError> {
    for (index, question) in questions.iter().enumerate() {
        if questions[..index].iter().any(|other| other.key == question.key) {
            return Err(ClientError::Invalid(format!("two questions have the key `{}`", question.key)));
        }
    }
    questions.into_iter().map(|wit::KeyedQuestion { key, question }| ask(Some(&key), question)).collect()
}

/// Records the question and answers it by the script that `of` points to.
fn answer<A>(
    asked: &Asked,
    grant: &str,
    target: &str,
    capability: &str,
    of: impl Fn(&mut Client) -> &mut Script<A>,
) -> Result<A, ClientError> {
    enum Next<A> {
        Queued(A),
        Closure(Handler<A>),
    }
    let next = with(|state| {
        if let Some(denial) = state::denial(state, grant, target) {
            return Err(ClientError::Denied(denial));
        }
        let script = of(&mut state.client);
        if !script.supported {
            return Err(ClientError::Unsupported(capability.to_owned()));
        }
        let next = match script.queue.pop_front() {
            Some(answer) => Some(Next::Queued(answer)),
            None => script.rest.clone().map(Next::Closure),
        };
        state.client.asked.push(asked.clone());
        next.ok_or_else(|| ClientError::Failed("the test has no further answer to such a question".into()))
    });
    // The borrow has ended before the closure runs, since it may use the fake host itself.
    match next? {
        Next::Queued(answer) => Ok(answer),
        Next::Closure(closure) => match closure.try_borrow_mut() {
            Ok(mut closure) => closure(asked),
            Err(_) => Err(ClientError::Failed("the answer to a question asks the same kind of question".into())),
        },
    }
}

/// A real host validates the whole schema and asks again. Here a missing field is a mistake in the test.
fn form_answer(schema: &Value, answer: Answer<Value>) -> Result<wit::FormAnswer, ClientError> {
    let filled = match answer {
        Answer::Accepted(filled) => filled,
        Answer::Declined => return Ok(wit::FormAnswer::Declined),
        Answer::Cancelled => return Ok(wit::FormAnswer::Cancelled),
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| filled.get(name).is_none()) {
        Some(name) => Err(ClientError::NotAnswered(format!("`{name}` is missing"))),
        None => Ok(wit::FormAnswer::Accepted(filled.to_string())),
    }
}

impl From<&str> for SampleAnswer {
    /// What a fake model writes.
    fn from(text: &str) -> Self {
        SampleContent::from(text).into()
    }
}

impl From<SampleContent> for SampleAnswer {
    /// What a fake model answers, such as a [`ToolUse`](crate::client::ToolUse).
    fn from(content: SampleContent) -> Self {
        let wants_tool = matches!(content, SampleContent::ToolUse(_));
        let stop_reason = if wants_tool { "toolUse" } else { "endTurn" };
        Self {
            role: Role::Assistant,
            content: vec![content],
            model: "fake-model".into(),
            stop_reason: Some(stop_reason.into()),
        }
    }
}
