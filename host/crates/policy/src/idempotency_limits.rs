//! Limits of what is kept of calls with idempotency keys.

use bytesize::ByteSize;
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct IdempotencyLimits {
    /// How long a key is kept after its call has ended. Bounds the store; after it, the same key is a new call.
    #[serde(with = "humantime_serde")]
    pub keep: Duration,
    /// Keys of all. Bounds what clients leave behind that take a new key for each call.
    pub kept: u32,
    /// Those of one principal. Bounds what one principal takes from the others: its own oldest ended key makes room.
    pub per_principal: u32,
    /// The result of one call; a larger one is not kept. Bounds what is read and sent each time a call is repeated.
    pub result: ByteSize,
    /// What all of them take in the store. Bounds the disk that results fill: whoever has the most makes room.
    pub size: ByteSize,
}

impl IdempotencyLimits {
    /// The longest that `keep` may be.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    /// The largest that `result` may be: the store keeps values of this size.
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
