//! Limits the memory and the tables of all instances of a call together. Wasmtime's own limits are per memory.

use super::instance_shares::InstancePermit;
use super::profile::{INSTANCES_PER_COMPONENT, MEMORIES_PER_COMPONENT, TABLES_PER_COMPONENT};
use wasmtime::ResourceLimiter;

/// A refused growth, for the error of the call that fails because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedGrowth {
    /// Total bytes of linear memory.
    Memory { requested: u64 },
    /// Total table elements.
    Table { requested: u64 },
}

/// Bytes that one element of a table takes.
const TABLE_ELEMENT: u64 = 16;

/// Counts growth against the ceilings of one call.
pub(super) struct Limiter {
    memory: usize,
    memory_limit: usize,
    table: usize,
    table_limit: usize,
    refused: Option<RefusedGrowth>,
    /// Bytes that the host holds for the guest elsewhere.
    host_bytes: u64,
    /// The permit of an instance whose call has begun. It reports what is counted here to the tree of the call.
    permit: Option<InstancePermit>,
}

impl Limiter {
    pub(super) fn new(memory_limit: usize, table_limit: usize) -> Self {
        Self { memory: 0, memory_limit, table: 0, table_limit, refused: None, host_bytes: 0, permit: None }
    }

    /// Bytes of linear memory in use. Memories never shrink, so this is also the peak.
    pub(super) fn peak_memory(&self) -> u64 {
        self.memory as u64
    }

    /// Counts the instance and what it holds for the tree of its call.
    pub(super) fn count_for(&mut self, permit: Option<InstancePermit>) {
        self.permit = permit;
        self.report();
    }

    pub(super) fn set_host_bytes(&mut self, bytes: u64) {
        self.host_bytes = bytes;
        self.report();
    }

    fn report(&mut self) {
        let bytes = self.memory as u64 + self.table as u64 * TABLE_ELEMENT + self.host_bytes;
        if let Some(permit) = &mut self.permit {
            permit.held.set_bytes(bytes);
        }
    }

    pub(super) fn refused(&self) -> Option<RefusedGrowth> {
        self.refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            self.refused = Some(RefusedGrowth::Memory { requested: total as u64 });
            return Ok(false);
        }
        self.memory = total;
        self.report();
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table.saturating_add(desired.saturating_sub(current));
        if total > self.table_limit {
            self.refused = Some(RefusedGrowth::Table { requested: total as u64 });
            return Ok(false);
        }
        self.table = total;
        self.report();
        Ok(true)
    }

    fn instances(&self) -> usize {
        INSTANCES_PER_COMPONENT as usize
    }

    fn tables(&self) -> usize {
        TABLES_PER_COMPONENT as usize
    }

    fn memories(&self) -> usize {
        MEMORIES_PER_COMPONENT as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_covers_all_memories_together() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert!(!limiter.memory_growing(40, 41, None).unwrap());
        assert_eq!((limiter.peak_memory(), limiter.refused()), (100, Some(RefusedGrowth::Memory { requested: 101 })));
        assert!(!limiter.table_growing(0, 11, None).unwrap());
        assert!(!limiter.table_growing(0, usize::MAX, None).unwrap());
    }
}
