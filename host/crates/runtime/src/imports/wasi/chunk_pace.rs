//! How often a program's output becomes a chunk. One that writes single lines, or single bytes, for as long as it may would
//! otherwise make a message of each.

use super::occasion::Occasion;

/// Chunks at once.
const BURST: u64 = 256;
/// Of these, so many are kept for what is written before the program waits: the last line may say what it waits for.
const FOR_WAITING: u64 = 192;
/// Nanoseconds until there may be another.
const INTERVAL: u64 = 50_000_000;

/// A bucket that fills with time.
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
    /// Takes a chunk, if there may be one. `now`: nanoseconds since some beginning.
    pub(super) fn take(&mut self, occasion: Occasion, now: u64) -> bool {
        let more = now.saturating_sub(self.filled) / INTERVAL;
        self.filled += more * INTERVAL;
        self.left = self.left.saturating_add(more).min(BURST);
        let least = match occasion {
            Occasion::Writes => FOR_WAITING + 1,
            Occasion::Waits => 1,
            Occasion::Ends => return true,
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
            |occasion, now| std::iter::repeat_with(|| pace.take(occasion, now)).take_while(|may| *may).count();
        assert_eq!(count(Occasion::Writes, 0), 64);
        assert_eq!(count(Occasion::Waits, 0), 192);
        assert_eq!(count(Occasion::Waits, INTERVAL - 1), 0);
        assert_eq!(count(Occasion::Waits, 3 * INTERVAL), 3);
        assert_eq!(count(Occasion::Writes, 4 * INTERVAL), 0, "this one is kept for waiting");
        assert_eq!(count(Occasion::Waits, u64::MAX), 256);
        assert!(pace.take(Occasion::Ends, u64::MAX) && pace.take(Occasion::Ends, 0));
    }
}
