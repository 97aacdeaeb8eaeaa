//! Publishing and events in the fake host.

use super::state::published::{Attributes, Event, PublishedPrompt, PublishedResource};
use super::state::{denial, with};
use crate::ResourceBody;
use crate::host_types::events::EventError;
use crate::host_types::publish::{PublishError, no_attributes};

const WORD: &str = "_-";

fn made_of(text: &str, besides: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || besides.contains(c))
}

/// Checks that publishing is granted and that the path or name is valid.
fn may_publish(name: &str, proper: bool) -> Result<(), PublishError> {
    match with(|state| denial(state, "publish", "resources and prompts")) {
        Some(denial) => Err(PublishError::Denied(denial)),
        None if !proper => Err(PublishError::Invalid(format!("`{name}` has characters that it must not have"))),
        None => Ok(()),
    }
}

fn may_publish_at(path: &str) -> Result<(), PublishError> {
    let segment = |segment: &str| made_of(segment, "._-") && segment != "." && segment != "..";
    may_publish(path, path.len() <= 128 && path.split('/').all(segment))
}

pub(crate) fn put_resource(path: &str, body: ResourceBody, attributes: Attributes) -> Result<String, PublishError> {
    may_publish_at(path)?;
    if attributes.priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
        return Err(PublishError::Invalid("priority is outside 0.0 to 1.0".into()));
    }
    let uri = format!("portcullis://published/test/{path}");
    let resource = PublishedResource { uri: uri.clone(), body, attributes };
    with(|state| state.published.resources.insert(path.to_owned(), resource));
    Ok(uri)
}

pub(crate) fn append_resource(path: &str, body: ResourceBody) -> Result<String, PublishError> {
    may_publish_at(path)?;
    let Some(mut resource) = with(|state| state.published.resources.get(path).cloned()) else {
        return put_resource(path, body, no_attributes());
    };
    match (&mut resource.body, body) {
        (ResourceBody::Text(text), ResourceBody::Text(more)) => text.push_str(&more),
        (ResourceBody::Blob(data), ResourceBody::Blob(more)) => data.extend(more),
        _ => return Err(PublishError::Invalid(format!("`{path}` has a body of the other kind"))),
    }
    put_resource(path, resource.body, resource.attributes)
}

pub(crate) fn remove_resource(path: &str) -> Result<(), PublishError> {
    may_publish_at(path)?;
    with(|state| state.published.resources.remove(path)).map(|_| ()).ok_or(PublishError::NotFound)
}

pub(crate) fn put_prompt(prompt: PublishedPrompt) -> Result<(), PublishError> {
    may_publish(&prompt.name, made_of(&prompt.name, WORD) && prompt.name.len() <= 64)?;
    with(|state| state.published.prompts.insert(prompt.name.clone(), prompt));
    Ok(())
}

pub(crate) fn remove_prompt(name: &str) -> Result<(), PublishError> {
    may_publish(name, made_of(name, WORD))?;
    with(|state| state.published.prompts.remove(name)).map(|_| ()).ok_or(PublishError::NotFound)
}

pub(crate) fn emit_event(name: &str, payload: &str, dedupe_key: Option<&str>) -> Result<bool, EventError> {
    if let Some(denial) = with(|state| denial(state, "events", name)) {
        return Err(EventError::Denied(denial));
    }
    if !name.split('.').all(|word| made_of(word, WORD)) {
        return Err(EventError::Invalid(format!("`{name}` is not made of dotted words")));
    }
    let payload = serde_json::from_str(payload).map_err(|error| EventError::Invalid(error.to_string()))?;
    let event = Event { name: name.to_owned(), payload, dedupe_key: dedupe_key.map(ToOwned::to_owned) };
    let same = |known: &Event| known.name == event.name && known.dedupe_key == event.dedupe_key;
    with(|state| {
        let again = event.dedupe_key.is_some() && state.published.events.iter().any(same);
        if !again {
            state.published.events.push(event.clone());
        }
        Ok(!again)
    })
}
