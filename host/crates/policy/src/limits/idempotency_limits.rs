//! Limits of what the host keeps about calls with idempotency keys.

use bytesize::ByteSize;
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct IdempotencyLimits {
    /// How long a key is kept after its call has ended. Bounds the store. After that time, the same key starts a new call.
    #[serde(with = "humantime_serde")]
    pub keep: Duration,
    /// Number of keys of all principals. Bounds what is left behind by clients that use a new key for each call.
    pub kept: u32,
    /// Number of keys of one principal. Bounds what one principal takes from the others: beyond it, its own oldest ended key is
    /// removed.
    pub per_principal: u32,
    /// Size of the result of one call; a larger one is not kept. Bounds what is read and sent each time a call is repeated.
    pub result: ByteSize,
    /// Size of all results in the store. Bounds the disk that results fill: beyond it, the principal that has the most loses
    /// keys.
    pub size: ByteSize,
}

impl IdempotencyLimits {
    /// The longest that `keep` may be.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    /// The largest that `result` may be: the store keeps values up to this size.
    const LARGEST: ByteSize = ByteSize::mib(8);

    /// Refuses impossible limits; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.keep > Self::LONGEST {
            return Err("idempotency.keep is more than 30 days".into());
        }
        if self.keep.is_zero() || self.kept == 0 || self.per_principal == 0 {
            return Err("idempotency.keep, kept and per-principal = 0 would keep no key".into());
        }
        if self.result > Self::LARGEST {
            return Err(format!("idempotency.result is more than {}", Self::LARGEST));
        }
        if self.size < self.result {
            return Err("idempotency.size is less than idempotency.result".into());
        }
        Ok(())
    }
}

impl Default for IdempotencyLimits {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(24 * 60 * 60),
            kept: 10_000,
            per_principal: 1_000,
            result: ByteSize::kib(256),
            size: ByteSize::mib(256),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_kept_and_not_for_ever() {
        IdempotencyLimits::default().check().unwrap();
        for bad in [
            "keep = \"0s\"",
            "keep = \"31days\"",
            "kept = 0",
            "per-principal = 0",
            "result = \"9 MiB\"",
            "size = \"1 KiB\"",
        ] {
            assert!(toml::from_str::<IdempotencyLimits>(bad).unwrap().check().is_err(), "{bad}");
        }
    }
}
