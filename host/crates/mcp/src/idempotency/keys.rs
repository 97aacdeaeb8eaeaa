//! The keys of a store, as this process has them.

use super::process::OwnProcess;
use super::record::KeyRecord;
use super::running::RunningKeys;
use super::table::KeyTable;
use platform::clock::{Clock, MachineTime, SteadyClock};
use platform::durable::{DurableStore, Expected, Key, Strength};
use platform::sync::Mutex;
use policy::IdempotencyLimits;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long calls may take to end and to be stored when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

pub struct IdempotencyKeys {
    pub(super) store: Arc<dyn DurableStore>,
    pub(super) limits: IdempotencyLimits,
    pub(super) clock: Arc<dyn Clock>,
    /// Dates what is stored.
    time: SteadyClock,
    pub(super) process: OwnProcess,
    pub(super) table: Mutex<KeyTable>,
    pub(super) running: RunningKeys,
    /// Wakes the upkeep: there is something to do, or earlier.
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

    /// Cancels what runs and waits until it is stored.
    pub async fn close(&self) {
        self.stop.cancel();
        self.calls.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.calls.wait()).await.is_err() {
            tracing::error!(
                "calls with idempotency keys do not end; what they did is unknown to those who repeat them"
            );
        }
    }

    /// Removes keys that had to make room. Nobody waits for it: one that stays is removed when its time is over.
    pub(super) fn forget(&self, keys: Vec<Key>) {
        for key in keys {
            drop(self.store.remove(&key, Expected::Any, Strength::Process));
        }
    }

    /// Milliseconds since 1970. While the process lives, only time changes that, and nobody who sets the clock.
    pub(super) fn now(&self) -> u64 {
        self.moment().unix()
    }

    pub(super) fn moment(&self) -> MachineTime {
        self.time.now()
    }

    /// None for what this version cannot read.
    pub(super) fn read(&self, stored: &[u8]) -> Option<KeyRecord> {
        KeyRecord::from_bytes(stored, self.moment())
    }

    /// When a key expires that changes now.
    pub(super) fn expiry(&self) -> u64 {
        self.now().saturating_add(millis(self.limits.keep))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
