//! How many places of the writer's queue each principal has. It gets at most as many as are free, so that a principal whose
//! records come faster than the disk can write them leaves room for others.

use policy::Principal;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of counters; a hash of the principal selects one. Bounds the memory. Nobody can choose a name that shares the counter
/// of another principal, because the hash is keyed randomly.
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

    /// Takes a place. Returns how many places are taken then, or `None` if there is none left for this principal.
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

    /// `None` is the operator, who has a share like every principal.
    fn counter(&self, principal: Option<&Principal>) -> &AtomicUsize {
        &self.of_principals[self.hasher.hash_one(principal) as usize % COUNTERS]
    }
}
