//! A model of the host's own: it answers where the client has none and the grant says so.

use super::{ClientError, SampleAnswer, SampleRequest};
use crate::imports::{Budgeted, Exhaustion};
use async_trait::async_trait;
use std::time::Duration;

/// Asks a model on the operator's account. Implemented by `model`.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// Asks once, and waits at most this long.
    async fn sample(&self, request: &SampleRequest, patience: Duration) -> Result<Sampled, ModelError>;
}

/// What a model said, and what that took.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// For the guest.
    pub answer: SampleAnswer,
    /// As the model counts; zero where it does not say.
    pub tokens: Tokens,
}

/// Tokens of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Of the request.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
}

impl Tokens {
    /// Both.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Why the host's model gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// It takes no such request; a sentence.
    #[error("{0}")]
    Invalid(String),
    /// It took too long.
    #[error("the host's model did not answer within {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// The operator's ceiling for all plugins.
    #[error("the host's model is asked at most {0} times a minute ([model] calls-per-minute)")]
    Crowded(u32),
    /// It failed.
    #[error("{what}: {why}")]
    Failed {
        /// For the guest: nothing about the operator's network in it.
        what: String,
        /// For the operator's log.
        why: String,
    },
}

impl From<ModelError> for ClientError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Invalid(reason) => ClientError::Invalid(reason),
            ModelError::Timeout(limit) => ClientError::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            ModelError::Crowded(limit) => {
                ClientError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit: limit.into() })
            }
            ModelError::Failed { what, .. } => ClientError::Failed(what),
        }
    }
}
