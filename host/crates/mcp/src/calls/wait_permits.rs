//! Limits what calls of 2025-11-25 may hold while they wait for their clients.

use super::parking_limits::{counted, fits};
use platform::sync::Mutex;
use policy::{ParkedCallLimits, Principal};
use runtime::engine::Held;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

/// Counts what is held by calls that wait on their own streams. Unlike parked calls, they cannot be dropped to make room for
/// others.
pub(crate) struct WaitPermits {
    limits: ParkedCallLimits,
    waiting: Mutex<HashMap<Principal, Held>>,
}

/// Lets one call wait until this is dropped.
pub(crate) struct WaitPermit {
    permits: Arc<WaitPermits>,
    principal: Principal,
    held: Held,
}

impl WaitPermits {
    pub(crate) fn new(limits: ParkedCallLimits) -> Self {
        Self { limits, waiting: Mutex::default() }
    }

    /// The error is the limit that was reached.
    pub(crate) fn acquire(self: &Arc<Self>, principal: &Principal, held: Held) -> Result<WaitPermit, usize> {
        let (mut waiting, held) = (self.lock(), counted(held));
        let own = waiting.get(principal).copied().unwrap_or_default() + held;
        // No waiting call can be dropped for another, so each principal gets only its part of the memory.
        if !fits(own, &self.limits.of_one()) {
            return Err(self.limits.per_principal);
        }
        if !fits(waiting.values().fold(held, |sum, held| sum + *held), &self.limits) {
            return Err(self.limits.calls);
        }
        waiting.insert(principal.clone(), own);
        Ok(WaitPermit { permits: self.clone(), principal: principal.clone(), held })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, Held>> {
        self.waiting.lock()
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        let mut waiting = self.permits.lock();
        if let Some(own) = waiting.get_mut(&self.principal) {
            *own = *own - self.held;
            if *own == Held::default() {
                waiting.remove(&self.principal);
            }
        }
    }
}
