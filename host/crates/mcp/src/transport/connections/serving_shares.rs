//! Limits how many connections serve one principal, and how many bytes its requests hold: less than the whole, so that its open
//! streams or large requests do not keep others out.

use platform::sync::Mutex;
use policy::Principal;
use std::collections::HashMap;
use std::sync::Arc;

/// Counts the connections that serve each principal, and the bytes of its requests.
pub(in crate::transport) struct ServingShares {
    limit: Serving,
    serving: Mutex<HashMap<Principal, Serving>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Serving {
    connections: usize,
    bytes: usize,
}

/// The share that is used up, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport) enum ShareUsed {
    Connections(usize),
    Bytes(usize),
    /// What all principals share is used up.
    All,
}

/// What a principal uses of its share, until this is dropped.
pub(in crate::transport) struct ServingShare {
    shares: Arc<ServingShares>,
    principal: Principal,
    taken: Serving,
}

impl ServingShares {
    /// Each principal may have this many connections, and bytes of requests.
    pub(in crate::transport) fn new(connections: usize, bytes: usize) -> Arc<Self> {
        Arc::new(Self { limit: Serving { connections, bytes }, serving: Mutex::default() })
    }

    /// Counts one more connection that serves the principal.
    pub(in crate::transport) fn acquire_connection(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Result<ServingShare, ShareUsed> {
        let mut serving = self.serving.lock();
        let own = serving.entry(principal.clone()).or_default();
        if own.connections >= self.limit.connections {
            return Err(ShareUsed::Connections(self.limit.connections));
        }
        own.connections += 1;
        Ok(self.share(principal, Serving { connections: 1, bytes: 0 }))
    }

    /// Counts this many bytes for a request of the principal. If it is the only request, it may have any size.
    pub(in crate::transport) fn acquire_bytes(
        self: &Arc<Self>,
        principal: &Principal,
        bytes: usize,
    ) -> Result<ServingShare, ShareUsed> {
        let mut serving = self.serving.lock();
        let own = serving.entry(principal.clone()).or_default();
        if own.bytes > 0 && bytes > self.limit.bytes.saturating_sub(own.bytes) {
            return Err(ShareUsed::Bytes(self.limit.bytes));
        }
        own.bytes = own.bytes.saturating_add(bytes);
        Ok(self.share(principal, Serving { connections: 0, bytes }))
    }

    fn share(self: &Arc<Self>, principal: &Principal, taken: Serving) -> ServingShare {
        ServingShare { shares: self.clone(), principal: principal.clone(), taken }
    }
}

impl Drop for ServingShare {
    fn drop(&mut self) {
        let mut serving = self.shares.serving.lock();
        if let Some(own) = serving.get_mut(&self.principal) {
            own.connections -= self.taken.connections;
            own.bytes -= self.taken.bytes;
            if *own == Serving::default() {
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
        let shares = ServingShares::new(2, 100);
        let (ann, bob) = (Principal::from_source("key", "ann"), Principal::from_source("key", "bob"));
        let acquire = |principal| shares.acquire_connection(principal);
        let hers = [(); 2].map(|()| acquire(&ann).ok().unwrap());
        assert_eq!((acquire(&ann).err(), acquire(&bob).err()), (Some(ShareUsed::Connections(2)), None));
        drop(hers);
        let acquire = |principal, bytes| shares.acquire_bytes(principal, bytes);
        let large = acquire(&ann, 200).ok().unwrap();
        assert_eq!((acquire(&ann, 1).err(), acquire(&bob, 100).err()), (Some(ShareUsed::Bytes(100)), None));
        assert!(shares.acquire_connection(&ann).is_ok(), "ordinary requests are served");
        drop(large);
        assert!(acquire(&ann, 100).is_ok() && shares.serving.lock().is_empty());
    }
}
