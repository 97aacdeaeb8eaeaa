//! How often a program's output becomes a chunk. Without this, a program that writes single lines or single bytes for as long
//! as it may would make a message of each.

use super::flush_reason::FlushReason;

/// Chunks that may be sent at once.
const BURST: u64 = 256;
/// How many of these are kept for output before the program waits, because its last line may say what it waits for.
const FOR_WAITING: u64 = 192;
/// Nanoseconds until another chunk may be sent.
const INTERVAL: u64 = 50_000_000;

/// A token bucket, which fills with time.
pub(super) struct ChunkPace {
    left: u64,
    filled: u64,
}

impl Default for ChunkPace {
    fn default() -> Self {
        Self { left: BURST, filled: 0 }
    }
}

impl ChunkPace {
    /// Takes a chunk from the bucket, if one may be sent. `now` is in nanoseconds since some fixed moment.
    pub(super) fn take(&mut self, flush_reason: FlushReason, now: u64) -> bool {
        let more = now.saturating_sub(self.filled) / INTERVAL;
        self.filled += more * INTERVAL;
        self.left = self.left.saturating_add(more).min(BURST);
        let least = match flush_reason {
            FlushReason::Writes => FOR_WAITING + 1,
            FlushReason::Waits => 1,
            FlushReason::Ends => return true,
        };
        let may = self.left >= least;
        self.left -= u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_so_many_a_second() {
        let mut pace = ChunkPace::default();
        let mut count =
            |flush_reason, now| std::iter::repeat_with(|| pace.take(flush_reason, now)).take_while(|may| *may).count();
        assert_eq!(count(FlushReason::Writes, 0), 64);
        assert_eq!(count(FlushReason::Waits, 0), 192);
        assert_eq!(count(FlushReason::Waits, INTERVAL - 1), 0);
        assert_eq!(count(FlushReason::Waits, 3 * INTERVAL), 3);
        assert_eq!(count(FlushReason::Writes, 4 * INTERVAL), 0, "this one is kept for waiting");
        assert_eq!(count(FlushReason::Waits, u64::MAX), 256);
        assert!(pace.take(FlushReason::Ends, u64::MAX) && pace.take(FlushReason::Ends, 0));
    }
}
