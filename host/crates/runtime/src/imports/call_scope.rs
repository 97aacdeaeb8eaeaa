//! What all imports of one call share: whose call it is, and what it may do.

use super::call_authority::CallAuthority;
use super::provenance::Provenance;
use super::reconcile::Reconciler;
use super::types::{CallContext, GuestDenial};
use platform::audit::CallAudit;
use policy::{Limits, Lineage, Recipient};
use std::sync::Arc;

/// One call as its imports see it. It never changes; what the call has used is counted elsewhere.
pub struct CallScope {
    pub context: CallContext,
    pub authority: CallAuthority,
    /// Ends with this call.
    pub lineage: Lineage,
    /// The ceilings of its plugin's calls.
    pub limits: Arc<Limits>,
    /// Asks the plugin about effects in doubt. Set only for a call that continues an earlier run, and only if its plugin is to
    /// be asked.
    pub reconciler: Option<Arc<dyn Reconciler>>,
}

impl CallScope {
    pub fn new(
        context: CallContext,
        authority: impl Into<CallAuthority>,
        lineage: Lineage,
        limits: Arc<Limits>,
    ) -> Arc<Self> {
        Self::with_reconciler(context, authority, lineage, limits, None)
    }

    pub fn with_reconciler(
        context: CallContext,
        authority: impl Into<CallAuthority>,
        lineage: Lineage,
        limits: Arc<Limits>,
        reconciler: Option<Arc<dyn Reconciler>>,
    ) -> Arc<Self> {
        Arc::new(Self { context, authority: authority.into(), lineage, limits, reconciler })
    }

    /// Where decisions on this call are recorded.
    pub fn audit(&self) -> &CallAudit {
        self.authority.audit()
    }

    /// Checks that the private results which the call has seen may go to `to`.
    pub(super) fn check_flow(&self, to: &Recipient) -> Result<(), GuestDenial> {
        self.authority.enforce(self.authority.flow(&self.lineage.private_origins(), to))
    }

    /// The origin that is stored with what the call leaves behind.
    pub(super) fn provenance(&self) -> Provenance {
        Provenance::for_call(&self.authority, &self.context, self.lineage.private_origins())
    }
}
