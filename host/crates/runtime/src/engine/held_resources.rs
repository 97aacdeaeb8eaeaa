//! What the calls of one tree hold at this moment: instances, and bytes of the host's memory.

use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Each instance counts with this many bytes besides its memory: for its stack and what wasmtime keeps for it.
const INSTANCE_BYTES: u64 = 256 << 10;

/// An amount of instances and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    pub instances: u64,
    pub bytes: u64,
}

impl Add for Held {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            instances: self.instances.saturating_add(other.instances),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Sub for Held {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            instances: self.instances.saturating_sub(other.instances),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// The meter of one tree of calls. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct HeldResources(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    instances: AtomicU64,
    bytes: AtomicU64,
}

/// One instance of the tree, until this is dropped.
#[derive(Debug)]
pub(super) struct HeldInstance {
    tree: HeldResources,
    bytes: u64,
}

impl HeldResources {
    pub fn now(&self) -> Held {
        let Counters { instances, bytes } = &*self.0;
        Held { instances: instances.load(Ordering::Relaxed), bytes: bytes.load(Ordering::Relaxed) }
    }

    pub(super) fn hold_instance(&self) -> HeldInstance {
        self.0.instances.fetch_add(1, Ordering::Relaxed);
        self.0.bytes.fetch_add(INSTANCE_BYTES, Ordering::Relaxed);
        HeldInstance { tree: self.clone(), bytes: 0 }
    }
}

impl HeldInstance {
    /// Sets how many bytes the instance holds now.
    pub(super) fn set_bytes(&mut self, bytes: u64) {
        // If the instance holds less than before, the difference wraps around, and so does the counter.
        self.tree.0.bytes.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for HeldInstance {
    fn drop(&mut self) {
        self.set_bytes(0);
        self.tree.0.bytes.fetch_sub(INSTANCE_BYTES, Ordering::Relaxed);
        self.tree.0.instances.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_what_its_instances_hold() {
        let tree = HeldResources::default();
        let (mut one, two) = (tree.hold_instance(), tree.hold_instance());
        one.set_bytes(100);
        one.set_bytes(40);
        assert_eq!(tree.now(), Held { instances: 2, bytes: 2 * INSTANCE_BYTES + 40 });
        drop(one);
        assert_eq!(tree.now(), Held { instances: 1, bytes: INSTANCE_BYTES });
        drop(two);
        assert_eq!(tree.now(), Held::default());
    }
}
