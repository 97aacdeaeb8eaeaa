//! Limits of what the durable store accepts.

/// Limits for what guests and clients make the host store. Each is far above what the host stores by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurableLimits {
    /// Bytes of a value or an entry. Bounds the memory of a reader, which gets it as a whole.
    pub value: u64,
    /// Bytes of all entries of a log, plus [`ENTRY_COST`] for each. Bounds what one call that runs for days can fill.
    pub log: u64,
    /// Bytes of the file. Bounds how much of the disk all callers together can take.
    pub file: u64,
    /// Bytes of changes that wait for the disk. Bounds the memory for a caller that does not wait for answers while the disk is
    /// slow.
    pub queue: u64,
}

impl Default for DurableLimits {
    fn default() -> Self {
        Self { value: 16 << 20, log: 512 << 20, file: 16 << 30, queue: 256 << 20 }
    }
}

/// Bytes that an entry counts in addition to its own, so that empty entries count, too.
pub(super) const ENTRY_COST: u64 = 64;
/// Bytes of a page of records. Bounds the memory of a reader that lists large records, and how long listing keeps the caller's
/// thread busy.
pub(super) const LIST_BYTES: u64 = 64 << 10;
/// Entries that one read of a log returns at most. Bounds the memory of a reader of empty entries.
pub(super) const READ_ENTRIES: usize = 65_536;
