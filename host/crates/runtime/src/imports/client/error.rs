//! Why a question has no answer.

use super::super::connections::ConnectionError;
use super::super::import_span::ErrorName;
use super::super::types::{BudgetKind, Exhaustion, GuestDenial};
use super::model::ModelError;
use super::question::Ability;
use serde::{Deserialize, Serialize};

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClientError {
    /// The client does not support this.
    Unsupported(Ability),
    /// The host does not offer this.
    NotOffered(String),
    Denied(GuestDenial),
    Invalid(String),
    /// The client refused the question itself.
    Declined(String),
    /// Asked several times without a valid answer.
    NotAnswered(String),
    /// Milliseconds.
    Timeout(u64),
    Exhausted(Exhaustion),
    Cancelled,
    Failed(String),
}

impl ClientError {
    /// A stable name, for spans and audit records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unsupported(_) | Self::NotOffered(_) => "unsupported",
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Declined(_) => "declined",
            Self::NotAnswered(_) => "not-answered",
            Self::Timeout(_) => "timeout",
            Self::Exhausted(_) => "exhausted",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

impl ErrorName for ClientError {
    fn error_name(&self) -> &'static str {
        self.name()
    }
}

impl From<ConnectionError> for ClientError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Denied(denial) => ClientError::Denied(denial),
            ConnectionError::NotConnected => ClientError::NotAnswered("the account is not connected".into()),
            ConnectionError::Invalid(reason) => ClientError::Invalid(reason),
            ConnectionError::Exhausted(exhaustion) => ClientError::Exhausted(exhaustion),
            ConnectionError::Timeout(ms) => ClientError::Timeout(ms),
            ConnectionError::Failed(reason) => ClientError::Failed(reason),
        }
    }
}

impl From<ModelError> for ClientError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Invalid(reason) => ClientError::Invalid(reason),
            ModelError::Timeout(limit) => ClientError::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            ModelError::RateLimited(limit) => {
                ClientError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit: limit.into() })
            }
            ModelError::Failed { what, .. } => ClientError::Failed(what),
        }
    }
}
