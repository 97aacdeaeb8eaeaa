//! Who makes a call, and what it inherits.

use policy::{Budget, BudgetUsage, Lineage};
use runtime::engine::{PausableClock, TreeFuel};
use runtime::imports::{CallContext, ClientLink};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct CallRequest {
    pub context: CallContext,
    pub link: ClientLink,
    /// Set for a nested call.
    pub parent: Option<CallParent>,
    /// The journal of a call that another instance may have to take up.
    pub journal: CallJournal,
}

/// What a call within another one inherits from it.
pub struct Inherited {
    /// The chain of calls down to and including this one.
    pub lineage: Lineage,
    /// What the caller has left.
    pub budget: Budget,
    /// Shared by all calls of the tree.
    pub pausable_clock: PausableClock,
    /// The call's part in the account of the tree's fuel, if there is one.
    pub tree_fuel: Option<TreeFuel>,
}

/// Who made a call.
pub enum CallParent {
    /// A call of this host, within which this one runs.
    Host(Inherited),
    /// A tool of an upstream server, which a call of this host called. This call has a client and a slot of
    /// its own.
    External {
        /// The chain of calls down to and including the upstream tool.
        lineage: Lineage,
        budget_source: Arc<dyn BudgetSource>,
    },
}

/// The budget of a call that an upstream server made.
pub trait BudgetSource: Send + Sync {
    /// The budget of a call that begins now.
    fn reserve(&self, now: Instant) -> Budget;
    /// Reports what a call used, and how long it did not wait for anybody outside. A dropped call reports nothing, and counts
    /// as having used all of its budget.
    fn settle(&self, spent: BudgetUsage, time: Duration);
}
