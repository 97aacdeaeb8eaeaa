//! How many places of the writer's queue each principal has: at most as many as are free, so that whoever records
//! faster than the disk writes leaves room for others.

use policy::Principal;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Principals are told apart by a hash. Bounds the memory; nobody can choose a name to share the counter of another.
const COUNTERS: usize = 1 << 10;

pub(super) struct QueueShares {
    places: usize,
    taken: AtomicUsize,
    of_principals: Box<[AtomicUsize]>,
    hasher: RandomState,
}

impl QueueShares {
    pub(super) fn new(places: usize) -> Self {
        let of_principals = (0..COUNTERS).map(|_| AtomicUsize::new(0)).collect();
        Self { places, taken: AtomicUsize::new(0), of_principals, hasher: RandomState::new() }
    }

    /// Takes a place; the number of places taken then, or `None` if there is none for this principal.
    pub(super) fn take(&self, principal: Option<&Principal>) -> Option<usize> {
        let own = self.counter(principal);
        let taken = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        if own.fetch_add(1, Ordering::Relaxed) + taken <= self.places {
            return Some(taken);
        }
        self.give_back(principal);
        None
    }

    /// Whether a record of this principal would find a place now.
    pub(super) fn has_place(&self, principal: Option<&Principal>) -> bool {
        self.counter(principal).load(Ordering::Relaxed) + self.taken() < self.places
    }

    pub(super) fn give_back(&self, principal: Option<&Principal>) {
        self.counter(principal).fetch_sub(1, Ordering::Relaxed);
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// `None` is the operator, who has a share like others.
    fn counter(&self, principal: Option<&Principal>) -> &AtomicUsize {
        &self.of_principals[self.hasher.hash_one(principal) as usize % COUNTERS]
    }
}
