//! The time and the collected changes of one operation on an owner's data.

use super::item::Item;
use super::quota::Usage;
use super::unsaved::{Over, Unsaved};
use platform::changes::{Change, ListPart};
use policy::Principal;
use std::time::{Duration, Instant, SystemTime};

/// Lifetime after the last change, unless the plugin sets a shorter one. Bounds what principals that never return leave
/// behind.
pub(super) const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The context of one operation on an owner's data.
pub(super) struct OwnerContext<'a> {
    pub(super) owner: &'a Principal,
    pub(super) now: Instant,
    pub(super) wall: SystemTime,
    /// Usage of all other owners.
    pub(super) others: Usage,
    pub(super) changes: &'a mut Vec<Change>,
    pub(super) unsaved: &'a mut Unsaved,
}

impl OwnerContext<'_> {
    /// Reports that a resource's content has changed.
    pub(super) fn changed(&mut self, uri: &str) {
        self.changes.push(Change::Resource(Some(self.owner.clone()), uri.to_owned()));
    }

    pub(super) fn resources_changed(&mut self) {
        self.changes.push(Change::Resources(ListPart::Own(self.owner.clone())));
    }

    pub(super) fn prompts_changed(&mut self) {
        self.changes.push(Change::Prompts(ListPart::Own(self.owner.clone())));
    }

    /// Notes a change, which is stored later.
    pub(super) fn store(&mut self, item: Item, over: Over) {
        self.unsaved.note(self.owner, item, over);
    }

    /// Notes that an item's time is over; it is removed from the store later.
    pub(super) fn expired(&mut self, item: Item) {
        self.unsaved.note_expired(self.owner, item);
    }
}

/// The lifetime for a requested `ttl`.
pub(super) fn lifetime(ttl: Option<Duration>) -> Duration {
    ttl.unwrap_or(MAX_AGE).min(MAX_AGE)
}

pub(super) fn format_date(wall: SystemTime) -> String {
    humantime::format_rfc3339_millis(wall).to_string()
}
