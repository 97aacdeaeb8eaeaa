//! What tasks this process keeps: counted against the limits, and removed when their time is over.

use policy::{Principal, TaskLimits};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The id of a task: random, and not to be guessed.
pub(crate) type TaskId = Arc<str>;

/// Bytes that are counted for a task besides its call and its result, so that many small ones are not free.
const OVERHEAD: u64 = 1 << 10;

#[derive(Default)]
pub(super) struct TaskTable {
    tasks: HashMap<TaskId, KeptTask>,
    /// By the time at which they are to be removed, in milliseconds since 1970.
    by_expiry: BTreeSet<(u64, TaskId)>,
    owners: HashMap<Principal, Owned>,
    all: Owned,
}

struct KeptTask {
    owner: Principal,
    expires: u64,
    bytes: u64,
    /// Those of its journal, which is removed earlier.
    journal: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Owned {
    count: u32,
    bytes: u64,
}

impl TaskTable {
    /// Takes up a task if there is room for it.
    pub(super) fn insert(
        &mut self,
        id: &TaskId,
        owner: &Principal,
        bytes: u64,
        expires: u64,
        limits: &TaskLimits,
    ) -> bool {
        let own = self.owners.get(owner).copied().unwrap_or_default();
        let bytes = bytes + OVERHEAD;
        let fits = own.count < limits.per_principal
            && self.all.count < limits.kept
            && own.bytes + bytes <= limits.size_of_one()
            && self.all.bytes + bytes <= limits.size.as_u64();
        if fits {
            self.insert_stored(id, owner, bytes, expires);
        }
        fits
    }

    /// Takes up a task that is stored already, whether or not there is room for it.
    pub(super) fn insert_stored(&mut self, id: &TaskId, owner: &Principal, bytes: u64, expires: u64) {
        self.remove(id);
        self.tasks.insert(id.clone(), KeptTask { owner: owner.clone(), expires, bytes, journal: 0 });
        self.by_expiry.insert((expires, id.clone()));
        let own = self.owners.entry(owner.clone()).or_default();
        for owned in [own, &mut self.all] {
            owned.count += 1;
            owned.bytes += bytes;
        }
    }

    /// Adds to the bytes of a task, if there is room for them.
    pub(super) fn grow(&mut self, id: &TaskId, bytes: u64, limits: &TaskLimits) -> bool {
        let Some(task) = self.tasks.get_mut(id) else { return false };
        let own = self.owners.entry(task.owner.clone()).or_default();
        let fits = own.bytes + bytes <= limits.size_of_one() && self.all.bytes + bytes <= limits.size.as_u64();
        if fits {
            task.bytes += bytes;
            own.bytes += bytes;
            self.all.bytes += bytes;
        }
        fits
    }

    /// Adds to the bytes of a task's journal, if there is room for them.
    pub(super) fn grow_journal(&mut self, id: &TaskId, bytes: u64, limits: &TaskLimits) -> bool {
        let fits = self.grow(id, bytes, limits);
        if let Some(task) = self.tasks.get_mut(id).filter(|_| fits) {
            task.journal += bytes;
        }
        fits
    }

    /// The journal of a task is gone.
    pub(super) fn forget_journal(&mut self, id: &TaskId) {
        self.shrink_journal(id, u64::MAX);
    }

    /// So many bytes of the journal of a task are gone, or all of it.
    pub(super) fn shrink_journal(&mut self, id: &TaskId, bytes: u64) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let bytes = bytes.min(task.journal);
        task.journal -= bytes;
        task.bytes -= bytes;
        self.all.bytes -= bytes;
        if let Some(own) = self.owners.get_mut(&task.owner) {
            own.bytes -= bytes;
        }
    }

    pub(super) fn set_expiry(&mut self, id: &TaskId, expires: u64) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        self.by_expiry.remove(&(task.expires, id.clone()));
        task.expires = expires;
        self.by_expiry.insert((expires, id.clone()));
    }

    pub(super) fn remove(&mut self, id: &TaskId) {
        let Some(KeptTask { owner, expires, bytes, journal: _ }) = self.tasks.remove(id) else { return };
        self.by_expiry.remove(&(expires, id.clone()));
        self.all = Owned { count: self.all.count - 1, bytes: self.all.bytes - bytes };
        if let Some(own) = self.owners.get_mut(&owner) {
            *own = Owned { count: own.count - 1, bytes: own.bytes - bytes };
            if own.count == 0 {
                self.owners.remove(&owner);
            }
        }
    }

    /// When the next task is to be removed.
    pub(super) fn next_expiry(&self) -> Option<u64> {
        self.by_expiry.first().map(|(expires, _)| *expires)
    }

    /// A task whose time is over.
    pub(super) fn expired(&self, now: u64) -> Option<TaskId> {
        self.by_expiry.first().filter(|(expires, _)| *expires <= now).map(|(_, id)| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    #[test]
    fn tasks_are_counted_by_principal_and_in_all() {
        let limits = TaskLimits { kept: 3, per_principal: 2, size: ByteSize::kib(12), ..TaskLimits::default() };
        let (alice, bob) = (Principal::from_source("key", "alice"), Principal::from_source("key", "bob"));
        let ids: Vec<TaskId> = (0..5).map(|n| n.to_string().into()).collect();
        let mut table = TaskTable::default();
        assert!(table.insert(&ids[0], &alice, 100, 30, &limits) && table.insert(&ids[1], &alice, 100, 10, &limits));
        assert!(!table.insert(&ids[2], &alice, 100, 10, &limits), "her part of the tasks");
        assert!(!table.insert(&ids[2], &bob, 8 << 10, 10, &limits), "his part of the bytes");
        assert!(table.insert(&ids[2], &bob, 2 << 10, 20, &limits));
        assert!(!table.insert(&ids[3], &bob, 0, 20, &limits), "all tasks");
        assert!(!table.grow(&ids[2], 6 << 10, &limits) && table.grow(&ids[2], 4 << 10, &limits));
        assert!(!table.grow(&ids[3], 1, &limits), "unknown");
        assert_eq!((table.next_expiry(), table.expired(9), table.expired(10)), (Some(10), None, Some(ids[1].clone())));
        let before = table.all;
        assert!(table.grow_journal(&ids[1], 900, &limits) && !table.grow_journal(&ids[1], 8 << 10, &limits));
        assert_eq!(table.all.bytes, before.bytes + 900);
        table.shrink_journal(&ids[1], 400);
        assert_eq!(table.all.bytes, before.bytes + 500, "a checkpoint gives back what it stands for");
        table.forget_journal(&ids[1]);
        assert_eq!(table.all, before);
        table.set_expiry(&ids[1], 40);
        assert_eq!(table.expired(25), Some(ids[2].clone()));
        ids.iter().for_each(|id| table.remove(id));
        assert!(table.tasks.is_empty() && table.owners.is_empty() && table.by_expiry.is_empty());
        assert_eq!(table.all, Owned::default());
    }
}
