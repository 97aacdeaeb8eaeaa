//! What is stored of an item.
//!
//! Times are milliseconds since 1970, which mean the same to the next process.

use super::context::lifetime;
use super::inbox_record::InboxRecord;
use super::item::{Item, OwnedItem};
use super::moment::{Moment, from_millis, millis};
use super::owner::OwnerData;
use super::prompt::{StoredPrompt, full_name};
use super::resource::StoredResource;
use super::source_record::SourceRecord;
use policy::Principal;
use runtime::imports::{PublishedPrompt, ResourceAttributes, ResourceBody};
use serde::{Deserialize, Serialize};

/// The format of records. A record that another version of the host has written in another format is left alone.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct PrincipalRecord {
    format: u32,
    owner: String,
    pub(super) content: StoredContent,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StoredContent {
    Resource(ResourceRecord),
    Prompt(PromptRecord),
    Inbox(InboxRecord),
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResourceRecord {
    tail: String,
    body: ResourceBody,
    attributes: ResourceAttributes,
    source: SourceRecord,
    modified: u64,
    expires: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PromptRecord {
    prompt: PublishedPrompt,
    source: SourceRecord,
    expires: u64,
}

impl PrincipalRecord {
    /// None if the owner has no such item any more.
    pub(super) fn new(own: Option<&OwnerData>, item: &OwnedItem, moment: Moment) -> Option<Self> {
        let own = own?;
        let content = match &item.item {
            Item::Resource(tail) => {
                StoredContent::Resource(ResourceRecord::new(tail, own.resources.get(tail)?, moment))
            }
            Item::Prompt(name) => StoredContent::Prompt(PromptRecord::new(own.prompts.get(name)?, moment)),
            Item::Inbox => StoredContent::Inbox(own.inbox.to_record(moment)?),
        };
        Some(Self { format: FORMAT, owner: item.owner.as_str().to_owned(), content })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Maps have text as keys, and numbers are finite: it can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// None for what this version cannot read.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(bytes).ok().filter(|record| record.format == FORMAT)
    }

    /// The number of an inbox's newest event; none for other items.
    pub(super) fn newest_event(&self) -> Option<u64> {
        match &self.content {
            StoredContent::Inbox(inbox) => Some(inbox.newest),
            StoredContent::Resource(_) | StoredContent::Prompt(_) => None,
        }
    }

    /// Which item it is.
    pub(super) fn item(&self) -> OwnedItem {
        let item = match &self.content {
            StoredContent::Resource(ResourceRecord { tail, .. }) => Item::Resource(tail.clone()),
            StoredContent::Prompt(PromptRecord { prompt, source, .. }) => {
                Item::Prompt(full_name(&source.plugin, &prompt.name))
            }
            StoredContent::Inbox(_) => Item::Inbox,
        };
        OwnedItem { owner: Principal::from_stored(&self.owner), item }
    }
}

impl ResourceRecord {
    fn new(tail: &str, resource: &StoredResource, moment: Moment) -> Self {
        Self {
            tail: tail.to_owned(),
            body: resource.body.clone(),
            attributes: resource.attributes.clone(),
            source: SourceRecord::from(&resource.source),
            modified: millis(resource.modified),
            expires: moment.date(resource.expires),
        }
    }

    /// None if its time is over.
    pub(super) fn into_stored(self, moment: Moment) -> Option<(String, StoredResource)> {
        let Self { tail, body, attributes, source, modified, expires } = self;
        let expires = moment.end(expires, lifetime(attributes.ttl))?;
        let modified = from_millis(modified)?;
        let resource = StoredResource::new(&tail, body, attributes, source.into(), modified, expires);
        Some((tail, resource))
    }
}

impl PromptRecord {
    fn new(StoredPrompt { prompt, source, expires }: &StoredPrompt, moment: Moment) -> Self {
        Self { prompt: prompt.clone(), source: SourceRecord::from(source), expires: moment.date(*expires) }
    }

    /// None if its time is over.
    pub(super) fn into_stored(self, moment: Moment) -> Option<StoredPrompt> {
        let Self { prompt, source, expires } = self;
        let expires = moment.end(expires, lifetime(prompt.ttl))?;
        Some(StoredPrompt { prompt, source: source.into(), expires })
    }
}
