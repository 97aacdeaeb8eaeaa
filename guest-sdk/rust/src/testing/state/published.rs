//! Published items, and the inbox.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ResourceBody;

pub use crate::bindings::portcullis::plugin::publish::{Attributes, PublishedMessage, PublishedPrompt};

/// One published resource.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedResource {
    /// Its URI, as if the plugin's name were `test`.
    pub uri: String,
    /// Its content.
    pub body: ResourceBody,
    /// Its attributes.
    pub attributes: Attributes,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Words with dots between them.
    pub name: String,
    /// Its payload.
    pub payload: Value,
    /// The key, if it was to be added only once.
    pub dedupe_key: Option<String>,
}

/// Resources by path, prompts by name, and events.
#[derive(Default)]
pub(crate) struct Published {
    pub(crate) resources: BTreeMap<String, PublishedResource>,
    pub(crate) prompts: BTreeMap<String, PublishedPrompt>,
    pub(crate) events: Vec<Event>,
}
