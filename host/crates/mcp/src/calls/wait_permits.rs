//! How many calls of 2025-11-25 may wait for their clients at once.

use platform::sync::Mutex;
use policy::{ParkedCallLimits, Principal};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

/// Counts calls that wait on their own streams. Unlike parked calls, they cannot be dropped to make room for others.
pub(crate) struct WaitPermits {
    limits: ParkedCallLimits,
    waiting: Mutex<HashMap<Principal, usize>>,
}

/// One call may wait until this is dropped.
pub(crate) struct WaitPermit {
    permits: Arc<WaitPermits>,
    principal: Principal,
}

impl WaitPermits {
    pub(crate) fn new(limits: ParkedCallLimits) -> Self {
        Self { limits, waiting: Mutex::default() }
    }

    /// The error is the limit that is reached.
    pub(crate) fn acquire(self: &Arc<Self>, principal: &Principal) -> Result<WaitPermit, usize> {
        let mut waiting = self.lock();
        let own = waiting.get(principal).copied().unwrap_or(0);
        if own >= self.limits.per_principal {
            return Err(self.limits.per_principal);
        }
        if waiting.values().sum::<usize>() >= self.limits.calls {
            return Err(self.limits.calls);
        }
        *waiting.entry(principal.clone()).or_default() += 1;
        Ok(WaitPermit { permits: self.clone(), principal: principal.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, usize>> {
        self.waiting.lock()
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        let mut waiting = self.permits.lock();
        if let Some(count) = waiting.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.principal);
            }
        }
    }
}
