//! What can be said of a question by looking at it alone.

use super::{ClientError, SampleRequest};
use crate::imports::Schema;
use platform::telemetry::{hidden, printable};

/// A message for a user, in bytes. Bounds what a client has to show.
const MAX_MESSAGE: usize = 4 << 10;

/// A guest's text that a person will read: no tricks with invisible characters, not endless.
pub(super) fn message_ok(message: &str) -> Result<(), ClientError> {
    let bad = hidden(message).map(|(_, c)| c).find(|c| !matches!(c, '\n' | '\t'));
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

/// A request that any model could be asked.
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
