//! Which items have changed since they were stored, and which are stored.

use super::item::{Item, OwnedItem};
use super::quota::MAX_TOTAL;
use platform::durable::{Expected, Revision};
use policy::Principal;
use std::collections::BTreeMap;

/// What a change may be written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Whatever is stored: the item was replaced or removed as a whole, and the last process that does so wins.
    Anything,
    /// Only what this process knows to be stored, because the change is based on that. Another process may have removed it.
    Known,
}

/// Changes that are to be stored. An item has at most one of them, however often it changes.
#[derive(Default)]
pub(super) struct Unsaved {
    /// Whether anything is stored at all.
    pub(super) is_kept: bool,
    changed: BTreeMap<OwnedItem, Over>,
    /// The revisions that this process has stored or read last.
    stored: BTreeMap<OwnedItem, Revision>,
    /// Whether there are changes that the storing task has not been woken for yet.
    pub(super) is_new: bool,
}

impl Unsaved {
    /// Notes a change.
    pub(super) fn note(&mut self, owner: &Principal, item: Item, over: Over) {
        let changed = OwnedItem { owner: owner.clone(), item };
        // At most as many changes as there may be items. Bounds a plugin that publishes and removes under ever new names while
        // the store fails.
        let has_room = self.changed.len() < MAX_TOTAL.items as usize || self.changed.contains_key(&changed);
        if !self.is_kept || !has_room {
            return;
        }
        self.put_back(&changed, over);
        self.is_new = true;
    }

    /// Notes that an item's time is over. What another process has made of it meanwhile stays.
    pub(super) fn note_expired(&mut self, owner: &Principal, item: Item) {
        self.changed.remove(&OwnedItem { owner: owner.clone(), item: item.clone() });
        self.note(owner, item, Over::Known);
    }

    /// The items that have changed.
    pub(super) fn changed(&self) -> Vec<OwnedItem> {
        self.changed.keys().cloned().collect()
    }

    /// Takes the change of an item, to store it.
    pub(super) fn take(&mut self, item: &OwnedItem) -> Option<Over> {
        self.changed.remove(item)
    }

    /// Notes a change again that was not stored. If the item has changed again since, the change may be written over what
    /// either of the two may be.
    pub(super) fn put_back(&mut self, item: &OwnedItem, over: Over) {
        let noted = self.changed.entry(item.clone()).or_insert(over);
        if over == Over::Anything {
            *noted = over;
        }
    }

    /// What must be stored for a change to be made.
    pub(super) fn expected(&self, item: &OwnedItem, over: Over) -> Expected {
        match (over, self.stored.get(item)) {
            (Over::Anything, _) => Expected::Any,
            (Over::Known, Some(revision)) => Expected::At(*revision),
            (Over::Known, None) => Expected::Nothing,
        }
    }

    /// Notes what is stored of an item: nothing, or this revision.
    pub(super) fn set_stored(&mut self, item: &OwnedItem, revision: Option<Revision>) {
        match revision {
            Some(revision) => drop(self.stored.insert(item.clone(), revision)),
            None => drop(self.stored.remove(item)),
        }
    }
}
