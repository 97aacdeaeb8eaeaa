//! The identity of this process as one that runs calls, and the check whether another process still runs its own.

use super::record::CallProcess;
use platform::durable::{DurableError, DurableStore, Key};
use platform::random::random_text;
use std::io;
use std::time::Duration;

/// How long a process owns its calls before it has to renew the lease.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How often it renews the lease while it runs calls.
pub(super) const RENEW: Duration = Duration::from_secs(10);
/// How long this process takes the lease of another one, to find out whether that one is gone.
const PROBE: Duration = Duration::from_secs(1);

pub(super) struct OwnProcess {
    pub(super) owner: CallProcess,
    lease: Key,
}

impl OwnProcess {
    /// `holder` is the place of this process among those that use the store. A process that takes the place of an ended one has
    /// the same holder.
    pub(super) fn new(holder: String) -> io::Result<Self> {
        let owner = CallProcess { holder, process: random_text::<12>()? };
        let lease = lease_of(&owner).ok_or_else(|| io::Error::other("a random text is no key"))?;
        Ok(Self { owner, lease })
    }

    /// Takes the lease: from now on, and until it expires, no other process treats the calls of this process as lost.
    pub(super) fn hold(&self, store: &dyn DurableStore) -> impl Future<Output = Result<(), DurableError>> + use<> {
        let held = store.acquire(&self.lease, &self.owner.holder, LEASE);
        async { held.await?.map(drop).ok_or(DurableError::Fenced) }
    }

    /// Whether another process may still run its calls, because its lease holds.
    pub(super) async fn may_run(&self, store: &dyn DurableStore, owner: &CallProcess) -> Result<bool, DurableError> {
        // The calls of this process are known here, and an earlier process with the same holder has ended.
        if owner.holder == self.owner.holder {
            return Ok(false);
        }
        let Some(lease) = lease_of(owner) else { return Ok(false) };
        let Some(taken) = store.acquire(&lease, &self.owner.holder, PROBE).await? else { return Ok(true) };
        drop(store.release(&taken));
        Ok(false)
    }
}

fn lease_of(owner: &CallProcess) -> Option<Key> {
    Key::new(format!("idempotency-process/{}", owner.process)).ok()
}
