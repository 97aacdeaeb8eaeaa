//! The `[model]` section of the configuration.

use platform::outbound::Endpoint;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Upper limit of `calls-per-minute`: each request is remembered for a minute.
const MAX_PER_MINUTE: u32 = 10_000;
/// Upper limit of `timeout`.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// A model for plugins that may ask one (`client.sample.fallback`) when their client has none.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelSettings {
    /// The base URL, without `/chat/completions`.
    pub url: Endpoint,
    /// The model's name at the endpoint.
    pub name: String,
    /// File with the API key; `None`: no key is sent.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Tokens of one answer; requests for more are lowered to this. Bounds the cost.
    #[serde(default = "max_tokens")]
    pub max_tokens: u32,
    /// Requests of all plugins together. Bounds the cost, and the number of requests that wait for a slow model.
    #[serde(default = "calls_per_minute")]
    pub calls_per_minute: u32,
    /// From connecting to the last byte. Bounds how long requests wait for a slow model.
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
    /// The error is a sentence.
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
        if !(1..=MAX_PER_MINUTE).contains(&self.calls_per_minute) {
            return Err(format!("calls-per-minute must be between 1 and {MAX_PER_MINUTE}"));
        }
        if self.timeout.is_zero() || self.timeout > MAX_TIMEOUT {
            return Err(format!("timeout must be above zero and at most {}", humantime::format_duration(MAX_TIMEOUT)));
        }
        Ok(())
    }
}
