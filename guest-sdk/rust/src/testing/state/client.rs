//! How the client answers, and what it was asked.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::Value;

use crate::bindings::portcullis::plugin::client::{Consent, Root, SampleAnswer, SampleContent};
use crate::host_types::client::{Answer, ClientError};

pub use crate::bindings::portcullis::plugin::client::SampleRequest;

/// One question that was asked, whether it was answered or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The key, when the tool chose one.
    pub key: Option<String>,
    /// The question.
    pub question: AskedQuestion,
}

/// The content of a question.
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

pub(crate) type Handler<A> = Rc<RefCell<dyn FnMut(&Asked) -> Result<A, ClientError>>>;

/// Answers to one kind of question: first those in the queue, then those of the closure. Without either, the client
/// does not support this kind.
pub(crate) struct Script<A> {
    pub(crate) queue: VecDeque<A>,
    pub(crate) rest: Option<Handler<A>>,
    pub(crate) supported: bool,
}

impl<A> Default for Script<A> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), rest: None, supported: false }
    }
}

impl<A> Script<A> {
    pub(crate) fn push(&mut self, answer: A) {
        self.supported = true;
        self.queue.push_back(answer);
    }

    pub(crate) fn answer_by(&mut self, closure: impl FnMut(&Asked) -> Result<A, ClientError> + 'static) {
        self.supported = true;
        self.rest = Some(Rc::new(RefCell::new(closure)));
    }
}

/// What the client was asked and how it answers.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) asked: Vec<Asked>,
    pub(crate) forms: Script<Answer<Value>>,
    pub(crate) pages: Script<Consent>,
    pub(crate) samples: Script<SampleAnswer>,
    pub(crate) roots: Script<Vec<Root>>,
}
