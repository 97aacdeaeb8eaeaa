//! How much may be stored, and how often it may change.

use policy::{Rate, TokenBucket};
use runtime::imports::{BudgetKind, Exhaustion};
use std::time::{Duration, Instant};

/// A number of items and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) items: u64,
    pub(super) bytes: u64,
}

/// One resource or prompt. Bounds what reading it costs.
pub(super) const MAX_ITEM: u64 = 1 << 20;
/// What one plugin publishes for one principal. Bounds a plugin that leaves no space for others.
pub(super) const MAX_PLUGIN: Usage = Usage { items: 128, bytes: 2 << 20 };
/// What all plugins publish for one principal. Bounds a principal that leaves no space for others, and the length of
/// lists.
pub(super) const MAX_OWNER: Usage = Usage { items: 512, bytes: 8 << 20 };
/// Everything of all principals, including inboxes and logs. Bounds the host's memory against many principals.
pub(super) const MAX_TOTAL: Usage = Usage { items: 65_536, bytes: 128 << 20 };

/// Changes by one plugin for one principal: each may become a notification to every subscribed client.
pub(super) const WRITE_RATE: Rate = Rate::new(200, Duration::from_secs(10));
/// Events of one plugin for one principal. Bounds how often a user is notified.
pub(super) const EVENT_RATE: Rate = Rate::new(30, Duration::from_secs(30));

impl Usage {
    pub(super) fn one(bytes: usize) -> Self {
        Self { items: 1, bytes: bytes as u64 }
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self { items: self.items + more.items, bytes: self.bytes + more.bytes }
    }

    pub(super) fn minus(self, part: Self) -> Self {
        Self { items: self.items.saturating_sub(part.items), bytes: self.bytes.saturating_sub(part.bytes) }
    }

    pub(super) fn is_full(self) -> bool {
        self.within(MAX_TOTAL).is_err()
    }

    /// The error names the limit that is exceeded.
    pub(super) fn within(self, limit: Self) -> Result<(), Exhaustion> {
        let over = |limit| Err(Exhaustion { budget: BudgetKind::Stored, limit });
        match self {
            Self { items, .. } if items > limit.items => over(limit.items),
            Self { bytes, .. } if bytes > limit.bytes => over(limit.bytes),
            _ => Ok(()),
        }
    }
}

/// Takes one change from a bucket; the error's limit is the number per minute.
pub(super) fn take(bucket: &mut TokenBucket, rate: Rate, now: Instant) -> Result<(), Exhaustion> {
    bucket.take(rate, now).map_err(|_| Exhaustion { budget: BudgetKind::Stored, limit: rate.per_minute() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_recovers_over_time() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(EVENT_RATE, start);
        for _ in 0..30 {
            take(&mut bucket, EVENT_RATE, start).unwrap();
        }
        assert_eq!(take(&mut bucket, EVENT_RATE, start).unwrap_err().limit, 60);
        let later = start + Duration::from_secs(2);
        assert!(!bucket.is_full(EVENT_RATE, later));
        assert!(take(&mut bucket, EVENT_RATE, later).is_ok() && take(&mut bucket, EVENT_RATE, later).is_ok());
        assert!(take(&mut bucket, EVENT_RATE, later).is_err());
        assert!(bucket.is_full(EVENT_RATE, later + Duration::from_secs(30)));
    }
}
