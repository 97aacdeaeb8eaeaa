//! The idempotency keys of a store, as this process uses them.

use super::process::OwnProcess;
use super::record::KeyRecord;
use super::running::RunningKeys;
use super::table::KeyTable;
use platform::clock::{Clock, MachineTime, SteadyClock};
use platform::durable::{Durability, DurableStore, Expected, Key};
use platform::sync::Mutex;
use policy::IdempotencyLimits;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long calls may take to end, and to be stored, when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

pub struct IdempotencyKeys {
    pub(super) store: Arc<dyn DurableStore>,
    pub(super) limits: IdempotencyLimits,
    pub(super) clock: Arc<dyn Clock>,
    /// The clock for times that are stored.
    time: SteadyClock,
    pub(super) process: OwnProcess,
    pub(super) table: Mutex<KeyTable>,
    pub(super) running: RunningKeys,
    /// Wakes the upkeep when there is something to do, or to do earlier than planned.
    pub(super) wake: Arc<Notify>,
    /// Cancelled when the process stops.
    stop: CancellationToken,
    /// The calls that run.
    calls: TaskTracker,
}

impl IdempotencyKeys {
    pub(super) fn new(
        store: Arc<dyn DurableStore>,
        holder: String,
        limits: IdempotencyLimits,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Arc<Self>> {
        let process = OwnProcess::new(holder)?;
        let (table, running, wake, stop) = Default::default();
        let time = SteadyClock::new(clock.clone());
        Ok(Arc::new(Self {
            store,
            limits,
            clock,
            time,
            process,
            table,
            running,
            wake,
            stop,
            calls: TaskTracker::new(),
        }))
    }

    pub(crate) fn limits(&self) -> &IdempotencyLimits {
        &self.limits
    }

    /// Cancels a call that does not end with its request.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// Runs a call that does not end with its request.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.calls.spawn(call)
    }

    /// Cancels the running calls, and waits until their ends are stored.
    pub async fn close(&self) {
        self.stop.cancel();
        self.calls.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.calls.wait()).await.is_err() {
            tracing::error!(
                "calls with idempotency keys do not end; what they did is unknown to those who repeat them"
            );
        }
    }

    /// Removes keys that had to make room. Nobody waits for the removal: a key that it fails for is removed when its time is
    /// over.
    pub(super) fn forget(&self, keys: Vec<Key>) {
        for key in keys {
            drop(self.store.remove(&key, Expected::Any, Durability::Process));
        }
    }

    /// Milliseconds since 1970. While the process lives, this clock only moves on with time, even if somebody sets the system's
    /// clock.
    pub(super) fn now(&self) -> u64 {
        self.moment().unix()
    }

    pub(super) fn moment(&self) -> MachineTime {
        self.time.now()
    }

    /// None if this version cannot read it.
    pub(super) fn read(&self, stored: &[u8]) -> Option<KeyRecord> {
        KeyRecord::from_bytes(stored, self.moment())
    }

    /// When a key that is changed now will expire.
    pub(super) fn expiry(&self) -> u64 {
        self.now().saturating_add(millis(self.limits.keep))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
