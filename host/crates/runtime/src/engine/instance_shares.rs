//! Decides whether a principal may have another instance. Every place of the pool has room for the largest component, so only
//! the number of instances has to be shared.
//!
//! A permit is given or refused at once. A nested call that waited for an instance could wait for one that its own callers
//! hold.

use super::error::{BusyResource, CallError};
use super::held_resources::{HeldInstance, HeldResources};
use platform::sync::Mutex;
use policy::Principal;
use std::collections::HashMap;
use std::sync::Arc;

/// A principal may hold up to this many times as many instances as are free. So the first principal leaves a fifth of all
/// instances to others, the second one a fifth of that, and so on.
const TIMES_FREE: u32 = 4;

/// Gives out permits for instances. Clones share them.
#[derive(Clone)]
pub struct InstanceShares(Arc<Mutex<Shares>>);

struct Shares {
    free: u32,
    principals: HashMap<Principal, u32>,
}

/// Permission to have an instance, until this is dropped.
pub struct InstancePermit {
    shares: InstanceShares,
    principal: Principal,
    pub(super) held: HeldInstance,
}

impl InstanceShares {
    pub fn new(total: u32) -> Self {
        Self(Arc::new(Mutex::new(Shares { free: total, principals: HashMap::new() })))
    }

    /// Permits the principal's call to have an instance, which is counted in the call's tree.
    pub fn acquire(&self, principal: &Principal, tree: &HeldResources) -> Result<InstancePermit, CallError> {
        let mut shares = self.0.lock();
        let own = shares.principals.get(principal).copied().unwrap_or(0);
        let busy = |resource, limit| Err(CallError::Busy { resource, limit });
        if own >= shares.free.saturating_mul(TIMES_FREE) {
            return if own == 0 {
                busy(BusyResource::Instances, 0)
            } else {
                busy(BusyResource::PrincipalInstances, own)
            };
        }
        shares.free -= 1;
        *shares.principals.entry(principal.clone()).or_default() += 1;
        Ok(InstancePermit { shares: self.clone(), principal: principal.clone(), held: tree.hold_instance() })
    }
}

impl Drop for InstancePermit {
    fn drop(&mut self) {
        let mut shares = self.shares.0.lock();
        shares.free += 1;
        if let Some(own) = shares.principals.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                shares.principals.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(shares: &InstanceShares, name: &str) -> Vec<InstancePermit> {
        let (principal, tree) = (Principal::from_source("key", name), HeldResources::default());
        std::iter::from_fn(|| shares.acquire(&principal, &tree).ok()).collect()
    }

    #[test]
    fn whoever_takes_all_it_can_leaves_some_to_others() {
        let shares = InstanceShares::new(1_280);
        let greedy = take(&shares, "greedy");
        assert_eq!(greedy.len(), 1_024);
        let others = ["a", "b", "c", "d"].map(|name| take(&shares, name));
        assert_eq!(others.each_ref().map(Vec::len), [205, 41, 8, 2]);
        drop(greedy);
        // Who had less than others before may have as much now.
        assert_eq!(take(&shares, "d").len(), 819);
        drop(others);
        assert_eq!(take(&shares, "greedy").len(), 1_024);
        assert!(shares.0.lock().principals.is_empty());
    }

    #[test]
    fn a_refusal_says_whose_instances_are_the_reason() {
        let (shares, tree) = (InstanceShares::new(1), HeldResources::default());
        let (ann, bob) = (Principal::from_source("key", "ann"), Principal::from_source("key", "bob"));
        let _permit = shares.acquire(&ann, &tree).ok().unwrap();
        let refused = |principal| shares.acquire(principal, &tree).err().unwrap().to_string();
        assert!(refused(&ann).contains("your calls"), "{}", refused(&ann));
        assert!(refused(&bob).contains("all instances of the host"), "{}", refused(&bob));
        assert_eq!(tree.now().instances, 1);
    }
}
