//! How plugins and principals share one host: rates, and what is done with a tool that keeps failing.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How often something may happen: so many times in a second, a minute or an hour, such as `100/s`. So many may come at
/// once; they come back evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    times: u32,
    per: Duration,
}

/// A text that is no rate.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no rate: write how many may come in a second, a minute or an hour, such as `100/s`, `600/m`, `50/h`")]
pub struct RateError(String);

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

/// What is left of a rate.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// A full one.
    pub fn full(rate: Rate, now: Instant) -> Self {
        Self { left: f64::from(rate.times), at: now }
    }

    /// Takes one; otherwise says after how long there is one again.
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

    /// Whether it is as good as new by now, and need not be kept.
    pub fn is_full(&self, rate: Rate, now: Instant) -> bool {
        let each = rate.per.as_secs_f64() / f64::from(rate.times);
        self.left + now.saturating_duration_since(self.at).as_secs_f64() / each >= f64::from(rate.times)
    }
}

/// When a tool that keeps failing is left alone for a while. Bounds what a broken or poisonous tool costs everybody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BreakerLimits {
    /// So many failures, and at least as many as calls that went well; 0: it is never left alone.
    pub failures: u32,
    /// In so much time.
    #[serde(with = "humantime_serde")]
    pub within: Duration,
    /// How long it is left alone, then one call tries it. Each time that fails, twice as long.
    #[serde(with = "humantime_serde")]
    pub open: Duration,
    /// But no longer than this.
    #[serde(with = "humantime_serde")]
    pub at_most: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        let (within, open) = (Duration::from_secs(30), Duration::from_secs(30));
        Self { failures: 5, within, open, at_most: Duration::from_secs(600) }
    }
}

/// What one principal may have at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PrincipalLimits {
    /// Its running calls. Bounds what one principal's slow calls take from the others.
    pub concurrent: u32,
    /// Its calls that wait for a place. Bounds the memory their requests take.
    pub queue: u32,
    /// How often it may call; absent: as often as it likes.
    pub rate: Option<Rate>,
}

impl Default for PrincipalLimits {
    fn default() -> Self {
        Self { concurrent: 96, queue: 4_096, rate: None }
    }
}

impl PrincipalLimits {
    /// Calls of the whole host that run at once.
    pub const ALL: u32 = 128;

    /// Refuses what could never be; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        match (self.concurrent, self.queue) {
            (0, _) => Err("per-principal.concurrent = 0 would let nobody call anything".into()),
            (more, _) if more > Self::ALL => {
                Err(format!("per-principal.concurrent = {more} is more than the host runs at once, {}", Self::ALL))
            }
            (_, long) if long > 100_000 => Err(format!("per-principal.queue = {long} is more than 100000")),
            _ => Ok(()),
        }
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
        let mut bucket = Bucket::full(rate, start);
        assert!((0..4).all(|_| bucket.take(rate, start).is_ok()));
        assert_eq!(bucket.take(rate, start), Err(Duration::from_millis(250)));
        let later = start + Duration::from_millis(250);
        assert_eq!((bucket.take(rate, later), bucket.take(rate, later).is_err()), (Ok(()), true));
        assert!(!bucket.is_full(rate, later + Duration::from_millis(900)));
        assert!(bucket.is_full(rate, later + Duration::from_secs(1)));
        // Rest does not pile up.
        let rested = start + Duration::from_secs(3600);
        assert_eq!((0..9).filter(|_| bucket.take(rate, rested).is_ok()).count(), 4);
        // A clock that is read by two at once may seem to go back.
        assert!(bucket.take(rate, start).is_err());
    }

    #[test]
    fn a_principal_has_some_and_not_more_than_all() {
        PrincipalLimits::default().check().unwrap();
        for bad in ["concurrent = 0", "concurrent = 129", "queue = 100_001"] {
            assert!(toml::from_str::<PrincipalLimits>(bad).unwrap().check().is_err(), "{bad}");
        }
        assert!(toml::from_str::<PrincipalLimits>("rate = \"often\"").is_err());
    }
}
