//! How much may be kept, and how often it may change.

use super::owner::Owner;
use runtime::imports::{Budgeted, Exhaustion};
use std::time::{Duration, Instant};

/// A number of things and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) items: u64,
    pub(super) bytes: u64,
}

/// One resource or prompt. Bounds what reading it costs.
pub(super) const ITEM: u64 = 1 << 20;
/// What one plugin keeps for one principal. Bounds a plugin that leaves no room for others.
pub(super) const PLUGIN: Held = Held { items: 128, bytes: 2 << 20 };
/// What all plugins publish for one principal. Bounds a principal that leaves no room for others, and a list's length.
pub(super) const OWNER: Held = Held { items: 512, bytes: 8 << 20 };
/// Everything of everybody, inboxes and logs included. Bounds the host's memory against many principals.
pub(super) const ALL: Held = Held { items: 65_536, bytes: 128 << 20 };

/// Changes of one plugin for one principal: every one may become a message to each client that listens.
pub(super) const WRITES: Rate = Rate { burst: 200, every: Duration::from_millis(50) };
/// Events of one plugin for one principal. Bounds how often somebody is told news.
pub(super) const EVENTS: Rate = Rate { burst: 30, every: Duration::from_secs(1) };

impl Held {
    pub(super) fn one(bytes: usize) -> Self {
        Self { items: 1, bytes: bytes as u64 }
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self { items: self.items + more.items, bytes: self.bytes + more.bytes }
    }

    pub(super) fn less(self, part: Self) -> Self {
        Self { items: self.items.saturating_sub(part.items), bytes: self.bytes.saturating_sub(part.bytes) }
    }

    pub(super) fn is_full(self) -> bool {
        self.within(ALL).is_err()
    }

    /// The limit that it is over, if it is.
    pub(super) fn within(self, limit: Self) -> Result<(), Exhaustion> {
        let over = |limit| Err(Exhaustion { budget: Budgeted::Stored, limit });
        match self {
            Self { items, .. } if items > limit.items => over(limit.items),
            Self { bytes, .. } if bytes > limit.bytes => over(limit.bytes),
            _ => Ok(()),
        }
    }
}

/// Whether a plugin may publish `new` in the place of `old`.
pub(super) fn room(own: &Owner, others: Held, plugin: &str, old: Held, new: Held) -> Result<(), Exhaustion> {
    if new.bytes > ITEM {
        return Err(Exhaustion { budget: Budgeted::Stored, limit: ITEM });
    }
    own.published(|by| by == plugin).less(old).plus(new).within(PLUGIN)?;
    own.published(|_| true).less(old).plus(new).within(OWNER)?;
    others.plus(own.held()).less(old).plus(new).within(ALL)
}

/// How often something may happen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// That often at once.
    burst: u32,
    /// Then once in this time.
    every: Duration,
}

/// How much of a rate is used: the moment at which all of it is there again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket(Instant);

impl Bucket {
    pub(super) fn full(now: Instant) -> Self {
        Self(now)
    }

    pub(super) fn is_full(self, now: Instant) -> bool {
        self.0 <= now
    }

    /// Takes one, or says how many a minute there are.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Exhaustion> {
        let then = self.0.max(now) + rate.every;
        if then.saturating_duration_since(now) > rate.every * rate.burst {
            let minute = 60_000 / rate.every.as_millis().max(1);
            return Err(Exhaustion { budget: Budgeted::Stored, limit: u64::try_from(minute).unwrap_or(u64::MAX) });
        }
        self.0 = then;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        for _ in 0..30 {
            bucket.take(EVENTS, start).unwrap();
        }
        assert_eq!(bucket.take(EVENTS, start).unwrap_err().limit, 60);
        let later = start + Duration::from_secs(2);
        assert!(!bucket.is_full(later));
        assert!(bucket.take(EVENTS, later).is_ok() && bucket.take(EVENTS, later).is_ok());
        assert!(bucket.take(EVENTS, later).is_err());
        assert!(bucket.is_full(later + Duration::from_secs(30)));
    }
}
