//! `[model]`.

use platform::outbound::Endpoint;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// The most requests a minute that can be configured: each is remembered for a minute.
const MOST_PER_MINUTE: u32 = 10_000;
/// The longest wait for an answer that can be configured.
const LONGEST: Duration = Duration::from_secs(3600);

/// A model for plugins that may ask one (`client.sample.fallback`) when their client has none.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelSettings {
    /// Where it is, up to what stands before `/chat/completions`.
    pub url: Endpoint,
    /// Which one, as the endpoint names it.
    pub name: String,
    /// File of the endpoint's key; none: it wants no key.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// The longest answer of one request; a plugin that wants more gets this. Bounds the bill.
    #[serde(default = "max_tokens")]
    pub max_tokens: u32,
    /// Requests of all plugins together. Bounds the bill, and what waits for a slow model.
    #[serde(default = "calls_per_minute")]
    pub calls_per_minute: u32,
    /// From connecting to the last byte. Bounds what waits for a slow model.
    #[serde(default = "timeout", with = "humantime_serde")]
    pub timeout: Duration,
}

fn max_tokens() -> u32 {
    2_000
}

fn calls_per_minute() -> u32 {
    60
}

fn timeout() -> Duration {
    Duration::from_secs(60)
}

impl ModelSettings {
    /// Whether all of it can be used; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("name must not be empty: write the model's name as the endpoint knows it".into());
        }
        if self.url.url().path_segments().is_some_and(|mut parts| parts.any(|part| part == "completions")) {
            return Err("url must end before /chat/completions, such as \"http://127.0.0.1:11434/v1\"".into());
        }
        if self.max_tokens == 0 {
            return Err("max-tokens must be at least 1".into());
        }
        if !(1..=MOST_PER_MINUTE).contains(&self.calls_per_minute) {
            return Err(format!("calls-per-minute must be between 1 and {MOST_PER_MINUTE}"));
        }
        if self.timeout.is_zero() || self.timeout > LONGEST {
            return Err(format!("timeout must be above zero and at most {}", humantime::format_duration(LONGEST)));
        }
        Ok(())
    }
}
