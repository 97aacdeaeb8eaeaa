//! What a call may do. Every denial passes through here exactly once, where it is logged and recorded.

use super::types::GuestDenial;
use platform::audit::{AuditEvent, CallAudit};
use platform::telemetry::printable;
use platform::text::truncate_with;
use policy::{Authority, Denial};
use std::ops::Deref;
use std::sync::Arc;

/// Bytes of a denial in the log. What is denied is a name that a guest chooses, of up to 16 KiB.
const MAX_LINE: usize = 1 << 10;

/// A plugin's authority, and the audit of the call that uses it. Clones share them.
#[derive(Clone)]
pub struct CallAuthority {
    authority: Arc<Authority>,
    audit: CallAudit,
}

impl CallAuthority {
    pub fn new(authority: Arc<Authority>, audit: CallAudit) -> Self {
        Self { authority, audit }
    }

    pub fn authority(&self) -> Arc<Authority> {
        self.authority.clone()
    }

    pub fn audit(&self) -> &CallAudit {
        &self.audit
    }

    /// Converts a decision for the guest; a denial is logged and recorded.
    pub fn enforce<T>(&self, decision: Result<T, Denial>) -> Result<T, GuestDenial> {
        decision.map_err(|denial| {
            self.record_denial(&denial);
            (&denial).into()
        })
    }

    /// Logs and records a denial that reaches the guest in another way.
    pub fn record_denial(&self, denial: &Denial) {
        if self.audit.record(AuditEvent::from(denial)) {
            let text = truncate_with(&denial.for_operator(), MAX_LINE, "...");
            tracing::warn!(plugin = %self.authority.plugin(), "{}", printable(&text));
        }
    }
}

impl Deref for CallAuthority {
    type Target = Authority;

    fn deref(&self) -> &Authority {
        &self.authority
    }
}

/// Without an audit: for listing what a component offers, and for tests.
impl From<Arc<Authority>> for CallAuthority {
    fn from(authority: Arc<Authority>) -> Self {
        Self::new(authority, CallAudit::default())
    }
}
