//! A question of any kind, alone or together with others.

use std::fmt;
use std::vec::IntoIter;

use super::{Answer, ClientError, Confirmation, Consent, Root};
use crate::bindings::portcullis::plugin::client as wit;
use crate::imports;

type Read<A> = Box<dyn FnOnce(wit::Answer) -> Result<A, ClientError>>;

/// A question that has not been asked yet.
#[must_use = "nobody is asked before `ask`, or `ask_many` for several questions at once"]
pub struct Question<A> {
    pub(super) key: Option<String>,
    asked: wit::Question,
    read: Read<A>,
}

impl<A: 'static> Question<A> {
    pub(super) fn new(
        asked: wit::Question,
        read: impl FnOnce(wit::Answer) -> Result<A, ClientError> + 'static,
    ) -> Self {
        Self { key: None, asked, read: Box::new(read) }
    }

    /// Sets the key that names the question for the client: unique within the call, and the same each time the tool
    /// asks this question. By default the host chooses a key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Asks the question and waits for the answer.
    ///
    /// # Errors
    /// See [`ClientError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
    pub fn ask(self) -> Result<A, ClientError> {
        (self.read)(imports::ask(self.key.as_deref(), self.asked)?)
    }

    pub(super) fn map<B: 'static>(self, convert: impl FnOnce(A) -> B + 'static) -> Question<B> {
        let Self { key, asked, read } = self;
        Question { key, asked, read: Box::new(move |answer| read(answer).map(convert)) }
    }
}

impl<A> fmt::Debug for Question<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("key", &self.key).field("asked", &self.asked).finish_non_exhaustive()
    }
}

/// Types that [`ask_many`] accepts as one question.
pub trait IntoQuestion {
    /// The type of the answer.
    type Answer: 'static;

    /// Converts the value to a question.
    fn into_question(self) -> Question<Self::Answer>;
}

impl<A: 'static> IntoQuestion for Question<A> {
    type Answer = A;

    fn into_question(self) -> Question<A> {
        self
    }
}

/// Types that [`ask_many`] accepts: a tuple of up to eight questions of any kinds, or a `Vec` of questions of one kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group of questions",
    note = "ask a tuple of up to eight questions, or a `Vec` of questions of one kind; a single question has a method `ask`"
)]
pub trait Questions {
    /// The answers, in the order of the questions.
    type Answers;

    /// Splits the questions into what is sent and how the answers are read.
    #[doc(hidden)]
    #[allow(clippy::type_complexity, reason = "the closure's type has no name")]
    fn split(self) -> (Vec<Put>, impl FnOnce(IntoIter<wit::Answer>) -> Result<Self::Answers, ClientError>);
}

/// The question, and its key if the author chose one.
type Put = (Option<String>, wit::Question);

/// Asks several questions at once and waits for all answers.
///
/// ```no_run
/// # use portcullis_guest::{Form, ToolError, client};
/// # #[derive(Form)]
/// # struct Name { name: String }
/// # fn ask() -> Result<(), ToolError> {
/// let (name, greeting, roots) = client::ask_many((
///     client::form::<Name>("What is your name?").key("user_name"),
///     client::sample("Write a greeting.").max_tokens(50),
///     client::roots(),
/// ))?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// When one of them has no answer; see [`ClientError`].
pub fn ask_many<Q: Questions>(questions: Q) -> Result<Q::Answers, ClientError> {
    let (put, read) = questions.split();
    let expected = put.len();
    let answers = if put.is_empty() { Vec::new() } else { imports::ask_many(keyed(put))? };
    if answers.len() == expected { read(answers.into_iter()) } else { Err(ClientError::another_answer()) }
}

/// Gives every question a key: the author's, or its position.
fn keyed(put: Vec<Put>) -> Vec<wit::KeyedQuestion> {
    let chosen: Vec<String> = put.iter().filter_map(|(key, _)| key.clone()).collect();
    let numbered = |number: usize| {
        let mut key = format!("q{number}");
        while chosen.contains(&key) {
            key.push('_');
        }
        key
    };
    let keyed = |(index, (key, question)): (usize, Put)| wit::KeyedQuestion {
        key: key.unwrap_or_else(|| numbered(index + 1)),
        question,
    };
    put.into_iter().enumerate().map(keyed).collect()
}

fn next<A>(read: Read<A>, answers: &mut IntoIter<wit::Answer>) -> Result<A, ClientError> {
    read(answers.next().ok_or_else(ClientError::another_answer)?)
}

impl<Q: IntoQuestion> Questions for Vec<Q> {
    type Answers = Vec<Q::Answer>;

    fn split(self) -> (Vec<Put>, impl FnOnce(IntoIter<wit::Answer>) -> Result<Self::Answers, ClientError>) {
        let questions = self.into_iter().map(IntoQuestion::into_question);
        let (put, reads): (Vec<_>, Vec<_>) =
            questions.map(|question| ((question.key, question.asked), question.read)).unzip();
        (put, |mut answers| reads.into_iter().map(|read| next(read, &mut answers)).collect())
    }
}

macro_rules! tuples {
    ($($($question:ident)+;)+) => {$(
        impl<$($question: IntoQuestion),+> Questions for ($($question,)+) {
            type Answers = ($($question::Answer,)+);

            #[allow(non_snake_case, reason = "each element goes by the name of its type")]
            fn split(self) -> (Vec<Put>, impl FnOnce(IntoIter<wit::Answer>) -> Result<Self::Answers, ClientError>) {
                let ($($question,)+) = self;
                $(let $question = $question.into_question();)+
                let put = vec![$(($question.key, $question.asked)),+];
                (put, move |mut answers| Ok(($(next($question.read, &mut answers)?,)+)))
            }
        }
    )+};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

pub(super) fn form<T: 'static>(
    message: String,
    schema: String,
    read: impl FnOnce(&str) -> serde_json::Result<T> + 'static,
) -> Question<Answer<T>> {
    Question::new(wit::Question::Form(wit::Form { message, schema }), |answer| match answer {
        wit::Answer::Form(wit::FormAnswer::Accepted(filled)) => match read(&filled) {
            Ok(filled) => Ok(Answer::Accepted(filled)),
            Err(error) => Err(ClientError::UnexpectedAnswer(error.to_string())),
        },
        wit::Answer::Form(wit::FormAnswer::Declined) => Ok(Answer::Declined),
        wit::Answer::Form(wit::FormAnswer::Cancelled) => Ok(Answer::Cancelled),
        _ => Err(ClientError::another_answer()),
    })
}

/// A form without fields, which clients show as two buttons: to accept it is to say yes.
pub(super) fn confirmation(message: String) -> Question<Confirmation> {
    let schema = r#"{"type":"object","properties":{}}"#;
    form(message, schema.into(), |_| Ok(())).map(|answer| match answer {
        Answer::Accepted(()) => Confirmation::Yes,
        Answer::Declined | Answer::Cancelled => Confirmation::No,
    })
}

pub(super) fn url(message: String, target: wit::UrlTarget) -> Question<Consent> {
    Question::new(wit::Question::Url(wit::Url { message, target }), |answer| match answer {
        wit::Answer::Url(consent) => Ok(consent),
        _ => Err(ClientError::another_answer()),
    })
}

pub(super) fn roots() -> Question<Vec<Root>> {
    Question::new(wit::Question::Roots, |answer| match answer {
        wit::Answer::Roots(roots) => Ok(roots),
        _ => Err(ClientError::another_answer()),
    })
}
