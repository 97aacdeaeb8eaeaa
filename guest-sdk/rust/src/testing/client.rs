//! A scripted client.

use serde_json::Value;

use super::state::client::{Asked, AskedQuestion, Client, Handler, Script};
use super::state::{self, with};
use crate::Role;
use crate::bindings::portcullis::plugin::client::{self as wit, Consent, SampleAnswer, SampleContent};
use crate::host_types::client::{Answer, ClientError};

pub(crate) fn supported() -> wit::Abilities {
    with(|state| {
        let client = &state.client;
        wit::Abilities {
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

/// Records the question and answers it with the script that `of` selects.
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
    // The borrow ends before the closure runs, since the closure may use the fake host itself.
    match next? {
        Next::Queued(answer) => Ok(answer),
        Next::Closure(closure) => match closure.try_borrow_mut() {
            Ok(mut closure) => closure(asked),
            Err(_) => Err(ClientError::Failed("the answer to a question asks the same kind of question".into())),
        },
    }
}

/// A real host validates against the whole schema and asks again. Here a missing field is a mistake in the test.
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
    /// A fake model's answer with this text.
    fn from(text: &str) -> Self {
        SampleContent::from(text).into()
    }
}

impl From<SampleContent> for SampleAnswer {
    /// A fake model's answer with this content, such as a [`ToolUse`](crate::client::ToolUse).
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
