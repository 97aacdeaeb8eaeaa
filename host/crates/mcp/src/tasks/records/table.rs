//! The table of the tasks that this process keeps: counts them against the limits, and says when each is to be removed.

use crate::tasks::records::keys::Part;
use policy::{Principal, TaskLimits};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The id of a task: random, so that nobody can guess it.
pub(crate) type TaskId = Arc<str>;

/// Bytes that are counted for each task besides its call and its result, so that many small tasks are not free.
const OVERHEAD: u64 = 1 << 10;

#[derive(Default)]
pub(in crate::tasks) struct TaskTable {
    tasks: HashMap<TaskId, KeptTask>,
    /// The tasks by the time at which they are due, in milliseconds since 1970.
    by_time: BTreeSet<(u64, TaskId)>,
    owners: HashMap<Principal, Owned>,
    all: Count,
    suspended: usize,
}

/// A task that is added to the table.
pub(in crate::tasks) struct NewEntry<'a> {
    pub(in crate::tasks) id: &'a TaskId,
    pub(in crate::tasks) owner: Principal,
    /// The id of its call.
    pub(in crate::tasks) call: &'a str,
    pub(in crate::tasks) bytes: u64,
    /// When it is to be removed.
    pub(in crate::tasks) expires: u64,
}

struct KeptTask {
    owner: Principal,
    call: Arc<str>,
    due: u64,
    phase: Phase,
    bytes: u64,
    /// The bytes of its journal, which is removed before the task.
    journal: u64,
    /// The bytes of each part that can be stored again while the task is kept.
    parts: [u64; Part::ALL.len()],
}

/// What is to be done with a task whose time has come.
#[derive(Debug, PartialEq)]
pub(in crate::tasks) enum Due {
    Remove(TaskId),
    GoOn(TaskId),
}

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Served,
    /// Nobody serves it before it is due, or before a request for it arrives.
    Suspended,
    /// It is kept for its client, and may be removed to make room for others.
    Ended,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Count {
    tasks: u32,
    bytes: u64,
}

/// What a principal has.
#[derive(Debug, Default)]
struct Owned {
    all: Count,
    /// The tasks that have ended, in the order in which they are to be removed.
    ended: BTreeSet<(u64, TaskId)>,
}

impl TaskTable {
    /// Adds a task, and returns the tasks that must be removed to make room for it: ended tasks of its owner, or of the
    /// principal who has the most. If there is no room, returns none and changes nothing.
    pub(in crate::tasks) fn insert(&mut self, mut new: NewEntry<'_>, limits: &TaskLimits) -> Option<Vec<TaskId>> {
        new.bytes += OVERHEAD;
        let (mut own, mut all) = (self.count_of(&new.owner), self.all);
        let mut gone: Vec<TaskId> = Vec::new();
        loop {
            let is_own = own.tasks >= limits.per_principal || own.bytes + new.bytes > limits.size_of_one();
            let ended = if is_own {
                self.ended_of(&new.owner, &gone)
            } else if all.tasks >= limits.kept {
                self.ended_of_most(&gone, |count| u64::from(count.tasks))
            } else if all.bytes + new.bytes > limits.size.as_u64() {
                self.ended_of_most(&gone, |count| count.bytes)
            } else {
                break;
            };
            let ended = ended?.1.clone();
            let KeptTask { owner, bytes, .. } = self.tasks.get(&ended)?;
            for count in [Some(&mut all), Some(&mut own).filter(|_| *owner == new.owner)].into_iter().flatten() {
                *count = Count { tasks: count.tasks - 1, bytes: count.bytes - bytes };
            }
            gone.push(ended);
        }
        gone.iter().for_each(|id| self.remove(id));
        self.insert_stored(new);
        Some(gone)
    }

    fn count_of(&self, owner: &Principal) -> Count {
        self.owners.get(owner).map(|own| own.all).unwrap_or_default()
    }

    /// The ended task of a principal that is to be removed first, except for those that are removed already.
    fn ended_of(&self, owner: &Principal, gone: &[TaskId]) -> Option<&(u64, TaskId)> {
        self.owners.get(owner)?.ended.iter().find(|(_, id)| !gone.contains(id))
    }

    /// The same for the principal who has the most of `what`, among those who have an ended task.
    fn ended_of_most(&self, gone: &[TaskId], what: impl Fn(&Count) -> u64) -> Option<&(u64, TaskId)> {
        let able = self.owners.iter().filter_map(|(owner, own)| Some((what(&own.all), self.ended_of(owner, gone)?)));
        able.max_by_key(|(most, (due, _))| (*most, Reverse(*due))).map(|(_, ended)| ended)
    }

    /// Adds a task that is already stored, whether or not there is room for it. A task that is in the table stays as it is.
    pub(in crate::tasks) fn insert_stored(&mut self, new: NewEntry<'_>) {
        let NewEntry { id, owner, call, bytes, expires: due } = new;
        if self.tasks.contains_key(id) {
            return;
        }
        let own = self.owners.entry(owner.clone()).or_default();
        for count in [&mut own.all, &mut self.all] {
            count.tasks += 1;
            count.bytes += bytes;
        }
        self.by_time.insert((due, id.clone()));
        let task = KeptTask {
            owner,
            call: call.into(),
            due,
            phase: Phase::Served,
            bytes,
            journal: 0,
            parts: Default::default(),
        };
        self.tasks.insert(id.clone(), task);
    }

    /// The task of this principal that this call belongs to.
    pub(in crate::tasks) fn find_call(&self, owner: &Principal, call: &str) -> Option<TaskId> {
        let found = self.tasks.iter().find(|(_, task)| task.owner == *owner && *task.call == *call);
        found.map(|(id, _)| id.clone())
    }

    /// Whether a task may have this many more bytes; none if it is not in the table.
    pub(in crate::tasks) fn has_room(&self, id: &str, bytes: u64, limits: &TaskLimits) -> Option<bool> {
        let own = self.count_of(&self.tasks.get(id)?.owner);
        Some(own.bytes + bytes <= limits.size_of_one() && self.all.bytes + bytes <= limits.size.as_u64())
    }

    /// Adds to the bytes of a task, if there is room for them.
    pub(in crate::tasks) fn grow(&mut self, id: &TaskId, bytes: u64, limits: &TaskLimits) -> bool {
        let fits = self.has_room(id, bytes, limits) == Some(true);
        if fits && let Some(task) = self.tasks.get_mut(id) {
            let own = self.owners.entry(task.owner.clone()).or_default();
            task.bytes += bytes;
            own.all.bytes += bytes;
            self.all.bytes += bytes;
        }
        fits
    }

    /// Adds to the bytes of a task's journal, if there is room for them.
    pub(in crate::tasks) fn grow_journal(&mut self, id: &TaskId, bytes: u64, limits: &TaskLimits) -> bool {
        let fits = self.grow(id, bytes, limits);
        if let Some(task) = self.tasks.get_mut(id).filter(|_| fits) {
            task.journal += bytes;
        }
        fits
    }

    /// Stops counting the journal of a task, since it is removed.
    pub(in crate::tasks) fn forget_journal(&mut self, id: &TaskId) {
        self.shrink_journal(id, u64::MAX);
    }

    /// Counts this many bytes less for the journal of a task, or all of them if it has fewer.
    pub(in crate::tasks) fn shrink_journal(&mut self, id: &TaskId, bytes: u64) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let bytes = bytes.min(task.journal);
        task.journal -= bytes;
        self.shrink(id, bytes);
    }

    /// Counts the size of a part of a task, which replaces the size counted for it before, if there is room for it.
    pub(in crate::tasks) fn set_part(&mut self, id: &TaskId, part: Part, bytes: u64, limits: &TaskLimits) -> bool {
        let before = self.tasks.get(id).map_or(0, |task| task.parts[part as usize]);
        if let Some(less) = before.checked_sub(bytes) {
            self.shrink(id, less);
        } else if !self.grow(id, bytes - before, limits) {
            return false;
        }
        if let Some(task) = self.tasks.get_mut(id) {
            task.parts[part as usize] = bytes;
        }
        true
    }

    fn shrink(&mut self, id: &TaskId, bytes: u64) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        task.bytes -= bytes;
        self.all.bytes -= bytes;
        if let Some(own) = self.owners.get_mut(&task.owner) {
            own.all.bytes -= bytes;
        }
    }

    /// Sets when a task that somebody serves is to be removed.
    pub(in crate::tasks) fn set_expiry(&mut self, id: &TaskId, expires: u64) {
        self.set_due(id, expires, Phase::Served);
    }

    /// Marks the task as ended. It is to be removed at this time, or earlier to make room for others.
    pub(in crate::tasks) fn end(&mut self, id: &TaskId, expires: u64) {
        self.set_due(id, expires, Phase::Ended);
    }

    /// Marks the task as suspended: nobody serves it before this time, or before a request for it arrives.
    pub(in crate::tasks) fn suspend(&mut self, id: &TaskId, until: u64) {
        self.set_due(id, until, Phase::Suspended);
    }

    fn set_due(&mut self, id: &TaskId, due: u64, phase: Phase) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        self.by_time.remove(&(task.due, id.clone()));
        self.by_time.insert((due, id.clone()));
        self.suspended -= usize::from(task.phase == Phase::Suspended);
        self.suspended += usize::from(phase == Phase::Suspended);
        if let Some(own) = self.owners.get_mut(&task.owner) {
            own.ended.remove(&(task.due, id.clone()));
            own.ended.extend((phase == Phase::Ended).then(|| (due, id.clone())));
        }
        (task.due, task.phase) = (due, phase);
    }

    pub(in crate::tasks) fn remove(&mut self, id: &TaskId) {
        let Some(KeptTask { owner, due, bytes, phase, .. }) = self.tasks.remove(id) else { return };
        self.by_time.remove(&(due, id.clone()));
        self.suspended -= usize::from(phase == Phase::Suspended);
        let less = |count: Count| Count { tasks: count.tasks - 1, bytes: count.bytes - bytes };
        self.all = less(self.all);
        if let Some(own) = self.owners.get_mut(&owner) {
            own.all = less(own.all);
            own.ended.remove(&(due, id.clone()));
            if own.all.tasks == 0 {
                self.owners.remove(&owner);
            }
        }
    }

    /// How many tasks are suspended, so that nobody serves them at the moment.
    pub(in crate::tasks) fn suspended(&self) -> usize {
        self.suspended
    }

    /// When the next task is due.
    pub(in crate::tasks) fn next_due(&self) -> Option<u64> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// A task whose due time has come.
    pub(in crate::tasks) fn due(&self, now: u64) -> Option<Due> {
        let (_, id) = self.by_time.first().filter(|(due, _)| *due <= now)?;
        let is_suspended = self.tasks.get(id).is_some_and(|task| task.phase == Phase::Suspended);
        Some(if is_suspended { Due::GoOn(id.clone()) } else { Due::Remove(id.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    fn entry<'a>(id: &'a TaskId, owner: &Principal, bytes: u64, expires: u64) -> NewEntry<'a> {
        NewEntry { id, owner: owner.clone(), call: "c", bytes, expires }
    }

    #[test]
    fn tasks_are_counted_by_principal_and_in_all() {
        let limits = TaskLimits { kept: 3, per_principal: 2, size: ByteSize::kib(12), ..TaskLimits::default() };
        let (alice, bob) = (Principal::from_source("key", "alice"), Principal::from_source("key", "bob"));
        let ids: Vec<TaskId> = (0..5).map(|n| n.to_string().into()).collect();
        let mut table = TaskTable::default();
        let mut insert =
            |id: usize, owner, bytes, expires| table.insert(entry(&ids[id], owner, bytes, expires), &limits).is_some();
        assert!(insert(0, &alice, 100, 30) && insert(1, &alice, 100, 10));
        assert!(!insert(2, &alice, 100, 10), "her part of the tasks");
        assert!(!insert(2, &bob, 8 << 10, 10), "his part of the bytes");
        assert!(insert(2, &bob, 2 << 10, 20));
        assert!(!insert(3, &bob, 0, 20), "all tasks");
        assert!(!table.grow(&ids[2], 6 << 10, &limits) && table.grow(&ids[2], 4 << 10, &limits));
        assert!(!table.grow(&ids[3], 1, &limits), "unknown");
        assert_eq!(
            (table.next_due(), table.due(9), table.due(10)),
            (Some(10), None, Some(Due::Remove(ids[1].clone())))
        );
        let before = table.all;
        assert!(table.grow_journal(&ids[1], 900, &limits) && !table.grow_journal(&ids[1], 8 << 10, &limits));
        assert_eq!(table.all.bytes, before.bytes + 900);
        table.shrink_journal(&ids[1], 400);
        assert_eq!(table.all.bytes, before.bytes + 500, "a checkpoint gives back what it stands for");
        table.forget_journal(&ids[1]);
        let mut set = |part, bytes| table.set_part(&ids[1], part, bytes, &limits);
        assert!(set(Part::Output, 700) && set(Part::Output, 300) && set(Part::Samples, 50));
        assert!(!set(Part::Output, 9 << 10) && set(Part::Samples, 0));
        assert_eq!(table.all.bytes, before.bytes + 300, "the newest output counts");
        assert!(table.set_part(&ids[1], Part::Output, 0, &limits));
        assert_eq!(table.all, before);
        table.set_expiry(&ids[1], 40);
        assert_eq!(table.due(25), Some(Due::Remove(ids[2].clone())));
        ids.iter().for_each(|id| table.remove(id));
        assert!(table.tasks.is_empty() && table.owners.is_empty() && table.by_time.is_empty());
        assert_eq!(table.all, Count::default());
    }

    #[test]
    fn ended_tasks_make_room_those_of_whoever_has_the_most_first() {
        let limits = TaskLimits { kept: 5, per_principal: 3, size: ByteSize::kib(50), ..TaskLimits::default() };
        let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| Principal::from_source("key", name));
        let ids: Vec<TaskId> = (0..12).map(|n| n.to_string().into()).collect();
        let mut table = TaskTable::default();
        let add = |table: &mut TaskTable, id: usize, owner: &Principal, bytes: u64| {
            let gone = table.insert(entry(&ids[id], owner, bytes, 90), &limits)?;
            Some(gone.iter().map(|id| id.parse::<usize>().unwrap()).collect::<Vec<_>>())
        };
        assert!((0..3).all(|id| add(&mut table, id, &ann, 0) == Some(vec![])));
        assert_eq!(add(&mut table, 3, &ann, 0), None, "all of hers run");
        table.end(&ids[1], 50);
        table.end(&ids[0], 60);
        assert!((4..6).all(|id| add(&mut table, id, &bob, 0) == Some(vec![])));
        table.end(&ids[4], 10);
        assert_eq!(add(&mut table, 6, &eve, 0), Some(vec![1]), "ann has the most, and this ended first");
        assert_eq!(add(&mut table, 7, &eve, 20 << 10), Some(vec![4]), "ann and bob have two each");
        assert_eq!(add(&mut table, 8, &eve, 20 << 10), None, "her part of the bytes, and both of hers run");
        table.end(&ids[7], 70);
        assert_eq!(add(&mut table, 8, &eve, 20 << 10), Some(vec![7]), "her own");
        let before = table.all;
        assert_eq!(add(&mut table, 9, &eve, 40 << 10), None);
        assert_eq!(table.all, before, "nothing was removed for what has no room");
        ids.iter().for_each(|id| table.remove(id));
        assert!(table.owners.is_empty() && table.all == Count::default());
    }

    #[test]
    fn suspended_tasks_are_counted_and_go_on_when_they_are_due() {
        let (alice, limits) = (Principal::from_source("key", "alice"), TaskLimits::default());
        let ids: Vec<TaskId> = (0..2).map(|n| n.to_string().into()).collect();
        let mut table = TaskTable::default();
        assert!(ids.iter().all(|id| table.insert(entry(id, &alice, 1, 90), &limits).is_some()));
        ids.iter().for_each(|id| table.suspend(id, 50));
        assert_eq!((table.suspended(), table.due(50)), (2, Some(Due::GoOn(ids[0].clone()))));
        table.insert_stored(entry(&ids[0], &alice, 500, 90));
        assert_eq!((table.suspended(), table.all.bytes), (2, 2 * (OVERHEAD + 1)), "it was counted already");
        table.remove(&ids[1]);
        table.set_expiry(&ids[0], 90);
        assert_eq!((table.suspended(), table.due(50), table.next_due()), (0, None, Some(90)));
        assert_eq!(table.find_call(&alice, "c"), Some(ids[0].clone()));
        assert_eq!(table.find_call(&Principal::from_source("key", "bob"), "c"), None);
    }
}
