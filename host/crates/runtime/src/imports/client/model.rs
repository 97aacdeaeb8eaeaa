//! The host's own model, for clients without one if the grant allows it.

use super::question::{SampleAnswer, SampleRequest};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Asks a model on the operator's account; implemented by `services::model`.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    async fn sample(&self, request: &SampleRequest, timeout: Duration) -> Result<ModelAnswer, ModelError>;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub answer: SampleAnswer,
    /// As reported by the model; zero if it reports nothing.
    pub tokens: TokenUsage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
}

impl TokenUsage {
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum ModelError {
    /// The model does not accept such a request; a sentence.
    #[error("{0}")]
    Invalid(String),
    #[error("the host's model did not answer within {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// The operator's limit for all plugins.
    #[error("the host's model is asked at most {0} times a minute ([model] calls-per-minute)")]
    RateLimited(u32),
    #[error("{what}: {why}")]
    Failed {
        /// Shown to the guest, so it says nothing about the operator's network.
        what: String,
        why: String,
    },
}
