//! How long a journal may be.

/// Without a limit, a guest that asks the clock in a loop fills the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLimits {
    /// Records.
    pub entries: u64,
    /// Bytes of all records.
    pub bytes: u64,
}

impl JournalLimits {
    /// For a call that is journaled only for the case that it is parked or becomes a task: all of it is in memory.
    pub const IN_MEMORY: Self = Self { entries: 5_000, bytes: 512 << 10 };

    /// For a call whose journal is stored.
    pub const STORED: Self = Self { entries: 200_000, bytes: 32 << 20 };

    /// Whether a journal of this length is worth a warning: it has reached half of a limit.
    pub(super) fn is_near(&self, entries: u64, bytes: u64) -> bool {
        entries >= self.entries / 2 || bytes >= self.bytes / 2
    }

    pub(super) fn is_over(&self, entries: u64, bytes: u64) -> bool {
        entries > self.entries || bytes > self.bytes
    }
}
