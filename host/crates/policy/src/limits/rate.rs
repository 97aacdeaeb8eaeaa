//! Rate limits: `100/s` and the token bucket that enforces it.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A rate limit: a number of events per second, minute or hour, such as `100/s`. The number is also the burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    times: u32,
    per: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no rate: write how many may come in a second, a minute or an hour, such as `100/s`, `600/m`, `50/h`")]
pub struct RateError(String);

impl Rate {
    pub const fn new(times: u32, per: Duration) -> Self {
        Self { times, per }
    }

    /// The average over a minute.
    pub fn per_minute(&self) -> u64 {
        (60.0 * f64::from(self.times) / self.per.as_secs_f64()) as u64
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        let parsed = text.split_once('/').and_then(|(times, unit)| {
            let per = match unit.trim() {
                "s" => Duration::from_secs(1),
                "m" => Duration::from_secs(60),
                "h" => Duration::from_secs(3600),
                _ => return None,
            };
            let times: u32 = times.trim().replace('_', "").parse().ok()?;
            (1..=1_000_000).contains(&times).then_some(Self { times, per })
        });
        parsed.ok_or_else(|| RateError(text.chars().filter(|c| !c.is_control()).take(64).collect()))
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.per.as_secs() {
            1 => "s",
            60 => "m",
            _ => "h",
        };
        write!(f, "{}/{unit}", self.times)
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    left: f64,
    at: Instant,
}

impl TokenBucket {
    pub fn new(rate: Rate, now: Instant) -> Self {
        Self { left: f64::from(rate.times), at: now }
    }

    /// Takes a token. Fails with the time until the next one is available.
    pub fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let each = rate.per.as_secs_f64() / f64::from(rate.times);
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed / each).min(f64::from(rate.times));
        self.at = self.at.max(now);
        if self.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) * each));
        }
        self.left -= 1.0;
        Ok(())
    }

    /// Whether it is full again: then it need not be kept, because a new bucket is the same.
    pub fn is_full(&self, rate: Rate, now: Instant) -> bool {
        let each = rate.per.as_secs_f64() / f64::from(rate.times);
        self.left + now.saturating_duration_since(self.at).as_secs_f64() / each >= f64::from(rate.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Result<Rate, RateError> {
        Rate::try_from(text.to_owned())
    }

    #[test]
    fn rates_are_read_and_written() {
        for (text, shown) in [("100/s", "100/s"), (" 5 / m ", "5/m"), ("1_000/h", "1000/h")] {
            assert_eq!(rate(text).unwrap().to_string(), shown);
        }
        for bad in ["", "100", "0/s", "-1/s", "1.5/s", "1/d", "1/ss", "2000000/s", "/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_burst_then_an_even_flow() {
        let (rate, start) = (rate("4/s").unwrap(), Instant::now());
        let mut bucket = TokenBucket::new(rate, start);
        assert!((0..4).all(|_| bucket.take(rate, start).is_ok()));
        assert_eq!(bucket.take(rate, start), Err(Duration::from_millis(250)));
        let later = start + Duration::from_millis(250);
        assert_eq!((bucket.take(rate, later), bucket.take(rate, later).is_err()), (Ok(()), true));
        assert!(!bucket.is_full(rate, later + Duration::from_millis(900)));
        assert!(bucket.is_full(rate, later + Duration::from_secs(1)));
        // Unused tokens do not add up beyond the burst.
        let rested = start + Duration::from_secs(3600);
        assert_eq!((0..9).filter(|_| bucket.take(rate, rested).is_ok()).count(), 4);
        // Two threads may read the clock in one order and take tokens in another.
        assert!(bucket.take(rate, start).is_err());
    }
}
