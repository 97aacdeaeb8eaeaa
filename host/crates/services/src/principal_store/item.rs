//! What is stored by itself: a resource, a prompt, or an inbox, each in a record of its own.

use platform::durable::{InvalidKey, Key};
use policy::{Digest, Principal};

/// What the names of all records begin with.
pub(super) const RECORDS: &str = "published";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// By its URI without `portcullis://published/`.
    Resource(String),
    /// By the name that clients use.
    Prompt(String),
    Inbox,
}

/// An item of a principal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnedItem {
    pub(super) owner: Principal,
    pub(super) item: Item,
}

impl OwnedItem {
    /// The name of its record.
    pub(super) fn key(&self) -> Result<Key, InvalidKey> {
        // Names of principals and items are longer than keys may be, and have other characters.
        let hex = |text: &str| Digest::sha256(text.as_bytes()).hex().to_owned();
        let owner = hex(self.owner.as_str());
        Key::new(match &self.item {
            Item::Resource(tail) => format!("{RECORDS}/{owner}/resource/{}", hex(tail)),
            Item::Prompt(name) => format!("{RECORDS}/{owner}/prompt/{}", hex(name)),
            Item::Inbox => format!("{RECORDS}/{owner}/inbox"),
        })
    }
}
