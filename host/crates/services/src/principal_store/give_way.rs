//! Makes room when the store is full: the owner with the most gives way to an owner with less. So a few principals that fill
//! the store cannot keep others out.

use super::context::OwnerContext;
use super::owner::OwnerData;
use super::quota::{MAX_ITEM, MAX_TOTAL, Usage};
use super::run::StoredRun;
use super::store::StoreState;
use platform::changes::Change;
use policy::Principal;
use std::time::{Instant, SystemTime};

/// The room that is made for an owner who has less than others.
const FREE: Usage = Usage { items: 1, bytes: MAX_ITEM };

impl StoreState {
    /// Makes room for `owner` if the store is full, as long as another owner has more than `owner` would have with the new
    /// room.
    pub(super) fn make_room(&mut self, owner: &Principal, now: Instant, changes: &mut Vec<Change>) {
        while self.usage.plus(FREE).is_full() {
            let of = |usage: Usage| if self.usage.items >= MAX_TOTAL.items { usage.items } else { usage.bytes };
            let enough = of(self.owners.get(owner).map(|own| own.counted).unwrap_or_default()) + of(FREE);
            let all = self.owners.iter().map(|(name, own)| (of(own.counted), name));
            let Some((most, name)) = all.max().map(|(most, name)| (most, name.clone())) else { return };
            let Some(largest) = self.owners.get_mut(&name).filter(|_| most > enough) else { return };
            let before = largest.counted;
            largest.give_up_oldest(now);
            let (wall, others) = (SystemTime::UNIX_EPOCH, Usage::default());
            largest.expire(&mut OwnerContext { owner: &name, now, wall, others, changes, unsaved: &mut self.unsaved });
            largest.counted = largest.usage();
            if largest.counted == before {
                // It has nothing but its inbox, which is not given up.
                return;
            }
            self.usage = self.usage.minus(before).plus(largest.counted);
        }
    }
}

impl OwnerData {
    /// Gives up what is missed least: the log of a call that has ended, else a chunk of another call, else the published item
    /// that would expire first.
    fn give_up_oldest(&mut self, now: Instant) {
        if let Some(ended) = self.runs.iter_mut().find(|run| run.has_ended()) {
            ended.expires = Some(now);
            return;
        }
        if self.runs.iter_mut().max_by_key(|run| run.bytes).is_some_and(StoredRun::drop_oldest) {
            return;
        }
        let resources = self.resources.values_mut().map(|it| &mut it.expires);
        let prompts = self.prompts.values_mut().map(|it| &mut it.expires);
        if let Some(first) = resources.chain(prompts).min_by_key(|expires| **expires) {
            *first = now;
        }
    }
}
