//! The context of a call.

use platform::random::hex_id;
use policy::Principal;
use std::sync::Arc;

/// The context of a call.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Random.
    pub id: Arc<str>,
    pub principal: Principal,
    /// The id of the calling call; not passed to the guest.
    pub parent: Option<Arc<str>>,
    pub correlation_id: Option<String>,
    /// Chosen by the client; equal for repetitions of one intended call.
    pub idempotency_key: Option<String>,
    /// W3C trace context.
    pub traceparent: Option<String>,
}

impl CallContext {
    /// With a new random id.
    pub fn new(principal: impl Into<Principal>) -> Self {
        let id = hex_id();
        let principal = principal.into();
        Self { id, principal, parent: None, correlation_id: None, idempotency_key: None, traceparent: None }
    }

    /// The context of a call made by this one. It has no idempotency key, because the key stands for the whole call.
    pub fn nested(&self) -> Self {
        Self { id: hex_id(), parent: Some(self.id.clone()), idempotency_key: None, ..self.clone() }
    }
}
