//! Published resources.

use super::owner::Owner;
use super::quota::{Held, room};
use super::{Desk, STAY, Shelf};
use policy::Principal;
use runtime::imports::{Attributes, Provenance, PublishError, PublishedPrompt, Publisher, ResourceBody};
use std::time::{Duration, Instant, SystemTime};

/// What the URI of every published resource begins with.
pub(super) const PREFIX: &str = "portcullis://published/";

/// The URI of a resource by what it is kept under.
pub(super) fn uri(tail: &str) -> String {
    format!("{PREFIX}{tail}")
}

/// One published resource.
pub(super) struct Resource {
    pub(super) body: ResourceBody,
    pub(super) attributes: Attributes,
    /// The call that changed it last.
    pub(super) source: Provenance,
    pub(super) modified: SystemTime,
    pub(super) expires: Instant,
    /// Bytes besides the body.
    about: usize,
}

impl Resource {
    fn new(tail: &str, body: ResourceBody, attributes: Attributes, source: Provenance, desk: &Desk<'_>) -> Self {
        let words = [&attributes.title, &attributes.description, &attributes.mime_type];
        let about = tail.len() + words.into_iter().flatten().map(String::len).sum::<usize>();
        let expires = desk.now + stay(attributes.ttl);
        Self { body, attributes, source, modified: desk.wall, expires, about }
    }

    pub(super) fn held(&self) -> Held {
        Held::one(self.about + length(&self.body))
    }
}

/// How long something stays whose plugin wishes for `ttl`.
pub(super) fn stay(ttl: Option<Duration>) -> Duration {
    ttl.unwrap_or(STAY).min(STAY)
}

pub(super) fn length(body: &ResourceBody) -> usize {
    match body {
        ResourceBody::Text(text) => text.len(),
        ResourceBody::Blob(bytes) => bytes.len(),
    }
}

impl Publisher for Shelf {
    fn put_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
        attributes: Attributes,
    ) -> Result<String, PublishError> {
        let tail = format!("{}/{path}", source.plugin);
        self.with(owner, |own, desk| {
            own.write(&source.plugin, desk.now)?;
            put(own, desk, &tail, Resource::new(&tail, body, attributes, source, desk))
        })
    }

    fn append_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
    ) -> Result<String, PublishError> {
        let tail = format!("{}/{path}", source.plugin);
        self.with(owner, |own, desk| {
            own.write(&source.plugin, desk.now)?;
            let Some(resource) = own.resources.get(&tail) else {
                return put(own, desk, &tail, Resource::new(&tail, body, Attributes::default(), source, desk));
            };
            let old = resource.held();
            let more = Held { items: 0, bytes: length(&body) as u64 };
            room(own, desk.others, &source.plugin, old, old.plus(more))?;
            let Some(resource) = own.resources.get_mut(&tail) else { return Err(PublishError::NotFound) };
            match (&mut resource.body, body) {
                (ResourceBody::Text(text), ResourceBody::Text(more)) => text.push_str(&more),
                (ResourceBody::Blob(bytes), ResourceBody::Blob(more)) => bytes.extend(more),
                (ResourceBody::Text(_), ResourceBody::Blob(_)) => return Err(unlike(&tail, "text", "bytes")),
                (ResourceBody::Blob(_), ResourceBody::Text(_)) => return Err(unlike(&tail, "bytes", "text")),
            }
            resource.source = source;
            resource.modified = desk.wall;
            resource.expires = desk.now + stay(resource.attributes.ttl);
            let uri = uri(&tail);
            desk.changed(&uri);
            Ok(uri)
        })
    }

    fn remove_resource(&self, owner: &Principal, source: Provenance, path: &str) -> Result<(), PublishError> {
        let tail = format!("{}/{path}", source.plugin);
        self.with(owner, |own, desk| {
            own.write(&source.plugin, desk.now)?;
            own.resources.remove(&tail).ok_or(PublishError::NotFound)?;
            desk.resources_changed();
            desk.changed(&uri(&tail));
            Ok(())
        })
    }

    fn put_prompt(&self, owner: &Principal, source: Provenance, prompt: PublishedPrompt) -> Result<(), PublishError> {
        self.with(owner, |own, desk| {
            own.write(&source.plugin, desk.now)?;
            super::prompts::put(own, desk, source, prompt)
        })
    }

    fn remove_prompt(&self, owner: &Principal, source: Provenance, name: &str) -> Result<(), PublishError> {
        self.with(owner, |own, desk| {
            own.write(&source.plugin, desk.now)?;
            super::prompts::remove(own, desk, &source.plugin, name)
        })
    }
}

fn put(own: &mut Owner, desk: &mut Desk<'_>, tail: &str, new: Resource) -> Result<String, PublishError> {
    let old = own.resources.get(tail);
    let listed_anew = old.is_none_or(|old| old.attributes != new.attributes);
    room(own, desk.others, &new.source.plugin, old.map(Resource::held).unwrap_or_default(), new.held())?;
    own.resources.insert(tail.to_owned(), new);
    if listed_anew {
        desk.resources_changed();
    }
    let uri = uri(tail);
    desk.changed(&uri);
    Ok(uri)
}

fn unlike(tail: &str, there: &str, more: &str) -> PublishError {
    PublishError::Invalid(format!("{} is {there}; {more} cannot be added to it", uri(tail)))
}
