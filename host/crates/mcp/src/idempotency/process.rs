//! This process as one that runs calls, and whether others still do.

use super::record::CallProcess;
use platform::durable::{DurableError, DurableStore, Key};
use platform::random::random_text;
use std::io;
use std::time::Duration;

/// For how long a process owns its calls before it says so again.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How often it says so while it runs calls.
pub(super) const RENEW: Duration = Duration::from_secs(10);
/// The lease of a process that is gone is taken for so long, to find that out.
const PROBE: Duration = Duration::from_secs(1);

pub(super) struct OwnProcess {
    pub(super) owner: CallProcess,
    lease: Key,
}

impl OwnProcess {
    /// `holder` is its place among the processes that use the store; who takes the place of one that has ended has the same.
    pub(super) fn new(holder: String) -> io::Result<Self> {
        let owner = CallProcess { holder, process: random_text::<12>()? };
        let lease = lease_of(&owner).ok_or_else(|| io::Error::other("a random text is no key"))?;
        Ok(Self { owner, lease })
    }

    /// From now on, and until the lease is over, nobody else treats its calls as lost.
    pub(super) fn hold(&self, store: &dyn DurableStore) -> impl Future<Output = Result<(), DurableError>> + use<> {
        let held = store.acquire(&self.lease, &self.owner.holder, LEASE);
        async { held.await?.map(drop).ok_or(DurableError::Fenced) }
    }

    /// Whether a process may still run its calls: somebody else, whose lease holds.
    pub(super) async fn may_run(&self, store: &dyn DurableStore, owner: &CallProcess) -> Result<bool, DurableError> {
        // Calls of this process are known here. Who had its place before has ended.
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
