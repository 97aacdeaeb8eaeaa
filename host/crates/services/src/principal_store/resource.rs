//! One published resource.

use super::quota::Usage;
use runtime::imports::{Provenance, ResourceAttributes, ResourceBody};
use std::time::{Instant, SystemTime};

/// URI prefix of published resources.
pub(super) const PREFIX: &str = "portcullis://published/";

/// `<plugin>/<path>`. What is published by calls that have seen private results is kept apart, under
/// `<plugin>/~<origins>/<path>`: no path of a guest begins with `~`.
pub(super) fn tail(source: &Provenance, path: &str) -> String {
    let Provenance { plugin, knows, .. } = source;
    if knows.is_empty() {
        return format!("{plugin}/{path}");
    }
    let origins: Vec<_> = knows.iter().map(ToString::to_string).collect();
    format!("{plugin}/~{}/{path}", origins.join(","))
}

pub(super) fn uri(tail: &str) -> String {
    format!("{PREFIX}{tail}")
}

pub(super) struct StoredResource {
    pub(super) body: ResourceBody,
    pub(super) attributes: ResourceAttributes,
    /// The call that changed it last.
    pub(super) source: Provenance,
    pub(super) modified: SystemTime,
    pub(super) expires: Instant,
    /// Bytes of metadata.
    about: usize,
}

impl StoredResource {
    pub(super) fn new(
        tail: &str,
        body: ResourceBody,
        attributes: ResourceAttributes,
        source: Provenance,
        modified: SystemTime,
        expires: Instant,
    ) -> Self {
        let words = [&attributes.title, &attributes.description, &attributes.mime_type];
        let about = tail.len() + words.into_iter().flatten().map(String::len).sum::<usize>();
        Self { body, attributes, source, modified, expires, about }
    }

    pub(super) fn usage(&self) -> Usage {
        Usage::one(self.about + length(&self.body))
    }
}

pub(super) fn length(body: &ResourceBody) -> usize {
    match body {
        ResourceBody::Text(text) => text.len(),
        ResourceBody::Blob(bytes) => bytes.len(),
    }
}
