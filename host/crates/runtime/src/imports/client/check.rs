//! Checks of a question that need nothing but the question.

use super::super::schema::Schema;
use super::error::ClientError;
use super::question::{CheckedQuestion, SampleRequest};
use platform::telemetry::{printable, unsafe_characters};

/// Questions that may be asked, each with its index among those that the guest asks together.
#[derive(Default)]
pub(super) struct CheckedQuestions {
    pub(super) to_client: Vec<(usize, String, CheckedQuestion)>,
    pub(super) to_model: Vec<(usize, SampleRequest)>,
}

pub(super) enum Respondent {
    Client(CheckedQuestion),
    Model(SampleRequest),
}

/// Length of a message in bytes. Bounds what a client has to show.
const MAX_MESSAGE: usize = 4 << 10;

/// Checks a guest's text for a user: its length, and no control or invisible characters.
pub(super) fn message_ok(message: &str) -> Result<(), ClientError> {
    let bad = unsafe_characters(message).map(|(_, c)| c).find(|c| !matches!(c, '\n' | '\t'));
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

/// Checks an address that a user may be sent to: `https:`, or `http:` to this machine; without credentials.
pub(super) fn checked_url(address: &str) -> Result<url::Url, ClientError> {
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

/// Checks what every model requires.
pub(super) fn sample_ok(request: &SampleRequest) -> Result<(), ClientError> {
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
        if let Err(error) = Schema::compile(&tool.input_schema) {
            return Err(ClientError::Invalid(format!("the input schema of tool {:?} is refused: {error}", tool.name)));
        }
    }
    Ok(())
}
