//! Imports that wait for others: the client, and other servers.

use std::time::Duration;

use crate::bindings::portcullis::plugin::{client, connections};
use crate::host_types::client::ClientError;
use crate::host_types::connections::ConnectionError;

pub(crate) fn supported() -> client::Abilities {
    client::supported()
}

pub(crate) fn ask(key: Option<&str>, question: client::Question) -> Result<client::Answer, ClientError> {
    let answer = match question {
        client::Question::Form(form) => client::elicit_form(key, &form).map(client::Answer::Form),
        client::Question::Url(url) => client::elicit_url(key, &url).map(client::Answer::Url),
        client::Question::Sample(request) => client::sample(key, &request).map(client::Answer::Sample),
        client::Question::Roots => client::list_roots(key).map(client::Answer::Roots),
    };
    answer.map_err(Into::into)
}

pub(crate) fn ask_many(questions: Vec<client::KeyedQuestion>) -> Result<Vec<client::Answer>, ClientError> {
    client::ask_many(&questions).map_err(Into::into)
}

pub(crate) fn connected(name: &str) -> Result<bool, ConnectionError> {
    connections::connected(name).map_err(Into::into)
}

pub(crate) fn send(name: &str, request: connections::Request) -> Result<connections::Response, ConnectionError> {
    connections::send(name, &request).map_err(Into::into)
}

impl From<client::ClientError> for ClientError {
    fn from(error: client::ClientError) -> Self {
        use client::ClientError as Wit;
        match error {
            Wit::Unsupported(capability) => Self::Unsupported(capability),
            Wit::Denied(denial) => Self::Denied(denial),
            Wit::Invalid(why) => Self::Invalid(why),
            Wit::Declined(why) => Self::Declined(why),
            Wit::NotAnswered(why) => Self::NotAnswered(why),
            Wit::Timeout(after_ms) => Self::Timeout(Duration::from_millis(after_ms)),
            Wit::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            Wit::Cancelled => Self::Cancelled,
            Wit::Failed(why) => Self::Failed(why),
        }
    }
}

impl From<connections::ConnectionError> for ConnectionError {
    fn from(error: connections::ConnectionError) -> Self {
        use connections::ConnectionError as Wit;
        match error {
            Wit::Denied(denial) => Self::Denied(denial),
            Wit::NotConnected => Self::NotConnected,
            Wit::Invalid(why) => Self::Invalid(why),
            Wit::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            Wit::Timeout(after_ms) => Self::Timeout(Duration::from_millis(after_ms)),
            Wit::Failed(why) => Self::Failed(why),
        }
    }
}
