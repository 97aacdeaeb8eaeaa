//! How many connections serve one principal: never all that there may be, or its open streams would keep others out.

use platform::sync::Mutex;
use policy::Principal;
use std::collections::HashMap;
use std::sync::Arc;

/// Counts the connections that serve each principal.
pub(super) struct ServingShares {
    limit: usize,
    serving: Mutex<HashMap<Principal, usize>>,
}

/// One connection serves the principal until this is dropped.
pub(super) struct ServingShare {
    shares: Arc<ServingShares>,
    principal: Principal,
}

impl ServingShares {
    /// `limit` of them for one principal.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, serving: Mutex::default() })
    }

    /// The error is the limit that is reached.
    pub(super) fn acquire(self: &Arc<Self>, principal: &Principal) -> Result<ServingShare, usize> {
        let mut serving = self.serving.lock();
        let count = serving.entry(principal.clone()).or_default();
        if *count >= self.limit {
            return Err(self.limit);
        }
        *count += 1;
        Ok(ServingShare { shares: self.clone(), principal: principal.clone() })
    }
}

impl Drop for ServingShare {
    fn drop(&mut self) {
        let mut serving = self.shares.serving.lock();
        if let Some(count) = serving.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                serving.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_its_share_and_others_theirs() {
        let shares = ServingShares::new(2);
        let (ann, bob) = (Principal::from_source("key", "ann"), Principal::from_source("key", "bob"));
        let hers = [(); 2].map(|()| shares.acquire(&ann).ok().unwrap());
        assert_eq!((shares.acquire(&ann).err(), shares.acquire(&bob).err()), (Some(2), None));
        drop(hers);
        assert!(shares.acquire(&ann).is_ok() && shares.serving.lock().is_empty());
    }
}
