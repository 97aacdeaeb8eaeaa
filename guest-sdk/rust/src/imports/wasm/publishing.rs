//! What outlives the call: published resources and prompts, and events.

use crate::ResourceBody;
use crate::bindings::portcullis::plugin::{events, publish};
use crate::host_types::events::EventError;
use crate::host_types::publish::PublishError;

pub(crate) fn put_resource(
    path: &str,
    body: ResourceBody,
    attributes: publish::Attributes,
) -> Result<String, PublishError> {
    publish::put_resource(path, &body, &attributes).map_err(Into::into)
}

pub(crate) fn append_resource(path: &str, body: ResourceBody) -> Result<String, PublishError> {
    publish::append_resource(path, &body).map_err(Into::into)
}

pub(crate) fn remove_resource(path: &str) -> Result<(), PublishError> {
    publish::remove_resource(path).map_err(Into::into)
}

pub(crate) fn put_prompt(prompt: publish::PublishedPrompt) -> Result<(), PublishError> {
    publish::put_prompt(&prompt).map_err(Into::into)
}

pub(crate) fn remove_prompt(name: &str) -> Result<(), PublishError> {
    publish::remove_prompt(name).map_err(Into::into)
}

pub(crate) fn emit_event(name: &str, payload: &str, dedupe_key: Option<&str>) -> Result<bool, EventError> {
    events::emit(name, payload, dedupe_key).map_err(Into::into)
}

impl From<publish::PublishError> for PublishError {
    fn from(error: publish::PublishError) -> Self {
        use publish::PublishError as Wit;
        match error {
            Wit::Denied(denial) => Self::Denied(denial),
            Wit::Invalid(why) => Self::Invalid(why),
            Wit::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
            Wit::NotFound => Self::NotFound,
        }
    }
}

impl From<events::EventError> for EventError {
    fn from(error: events::EventError) -> Self {
        use events::EventError as Wit;
        match error {
            Wit::Denied(denial) => Self::Denied(denial),
            Wit::Invalid(why) => Self::Invalid(why),
            Wit::Exhausted(exhaustion) => Self::Exhausted(exhaustion),
        }
    }
}
