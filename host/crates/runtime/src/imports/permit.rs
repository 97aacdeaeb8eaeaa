//! What a call may do, and the one place where it is told no: every refusal passes here, once, on its way to the guest.

use super::GuestDenial;
use platform::audit::{Event, Trail};
use platform::telemetry::printable;
use policy::{Authority, Denial};
use std::ops::Deref;
use std::sync::Arc;

/// An authority, and the records of the call that uses it. Clones are the same.
#[derive(Clone)]
pub struct Permit {
    authority: Arc<Authority>,
    trail: Trail,
}

impl Permit {
    /// For a call with these records.
    pub fn new(authority: Arc<Authority>, trail: Trail) -> Self {
        Self { authority, trail }
    }

    /// The authority alone.
    pub fn authority(&self) -> Arc<Authority> {
        self.authority.clone()
    }

    /// The records.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// A decision as the guest hears it; a refusal is logged and recorded.
    pub fn decided<T>(&self, decision: Result<T, Denial>) -> Result<T, GuestDenial> {
        decision.map_err(|denial| {
            self.refused(&denial);
            (&denial).into()
        })
    }

    /// Logs and records a refusal that the guest hears of in another way.
    pub fn refused(&self, denial: &Denial) {
        tracing::warn!(plugin = %self.authority.plugin(), "{}", printable(&denial.to_string()));
        self.trail.record(Event::from(denial));
    }
}

impl Deref for Permit {
    type Target = Authority;

    fn deref(&self) -> &Authority {
        &self.authority
    }
}

/// Without records: for asking a component what it offers, and for tests.
impl From<Arc<Authority>> for Permit {
    fn from(authority: Arc<Authority>) -> Self {
        Self::new(authority, Trail::default())
    }
}
