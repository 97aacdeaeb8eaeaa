//! How much the durable store takes.

/// Each limit is far above what the host stores by itself. They hold for what guests and clients make it store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurableLimits {
    /// Bytes of a value or an entry. Bounds the memory of a reader, who gets it whole.
    pub value: u64,
    /// Bytes of all entries of a log, each with [`ENTRY_COST`]. Bounds what one call that runs for days can fill.
    pub log: u64,
    /// Bytes of the file. Bounds what all callers together can take from the disk.
    pub file: u64,
    /// Bytes of changes that wait for the disk. Bounds the memory that a caller takes who does not wait for answers while
    /// the disk is slow.
    pub queue: u64,
}

impl Default for DurableLimits {
    fn default() -> Self {
        Self { value: 16 << 20, log: 512 << 20, file: 16 << 30, queue: 256 << 20 }
    }
}

/// What an entry counts besides its bytes, so that empty ones count, too.
pub(super) const ENTRY_COST: u64 = 64;
/// Bytes of a page of records. Bounds the memory of a reader who lists large ones, and how long the thread of whoever asks is busy
/// with it.
pub(super) const LIST_BYTES: u64 = 64 << 10;
/// Entries of one part of a log. Bounds the memory of a reader of empty ones.
pub(super) const READ_ENTRIES: usize = 65_536;
