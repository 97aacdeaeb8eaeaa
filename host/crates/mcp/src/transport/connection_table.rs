//! All open connections of a listener, and what each is doing. When there are as many as may be, the one that is least
//! missed is closed for the next client: those who send nothing, or little, must not keep others out. Whoever has the most
//! connections loses one first, by address. That is no ceiling: all clients of a proxy come from one.

use super::message_memory::{HeldBytes, HeldMessages, MAX_HELD, MessageMemory, UNCOUNTED};
use super::serving_shares::{ServingShare, ServingShares, ShareUsed};
use platform::clock::Clock;
use platform::sync::Mutex;
use policy::Principal;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::future::pending;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// For so long, a connection has the time to send what it means to send: it is closed after all that are older.
const GRACE: Duration = Duration::from_secs(1);
/// How often a full table is looked at again for a connection that can be closed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a connection is doing. The first are closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionPhase {
    /// No request has come yet.
    New,
    /// The last response is written, or its client does not read it.
    Idle,
    /// The body of a request is being received.
    Body,
    /// A request is being served. Such a connection is never closed for another one.
    Serving,
}

pub(super) struct ConnectionTable {
    limit: usize,
    clock: Arc<dyn Clock>,
    /// Half of the connections, and of the memory for messages, may serve one principal.
    shares: Arc<ServingShares>,
    memory: Arc<MessageMemory>,
    entries: Mutex<Entries>,
    /// A connection has ended.
    ended: Notify,
}

#[derive(Default)]
struct Entries {
    next: u64,
    open: HashMap<u64, Arc<ServedConnection>>,
    /// How many of them each network has.
    networks: HashMap<IpAddr, usize>,
}

/// What a large request holds.
pub(super) struct LargeRequest {
    _share: ServingShare,
    _held: HeldBytes,
}

/// The state of one connection.
pub(super) struct ServedConnection {
    table: Weak<ConnectionTable>,
    network: IpAddr,
    pub(super) messages: HeldMessages,
    clock: Arc<dyn Clock>,
    shares: Arc<ServingShares>,
    /// Of the principal that is served now.
    share: Mutex<Option<ServingShare>>,
    /// The phase, and when it began.
    phase: Mutex<(ConnectionPhase, Instant)>,
    evicted: CancellationToken,
}

/// A connection's place in the table; dropping it gives the place back.
pub(super) struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    number: u64,
    pub(super) connection: Arc<ServedConnection>,
}

impl ConnectionTable {
    pub(super) fn new(limit: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_memory(limit, MAX_HELD, clock)
    }

    fn with_memory(limit: usize, memory: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (shares, memory) = (ServingShares::new(limit.div_ceil(2), memory / 2), MessageMemory::new(memory));
        Arc::new(Self { limit, clock, shares, memory, entries: Mutex::default(), ended: Notify::new() })
    }

    /// Waits for a place for a client of this address, and closes another connection for it if there is none.
    pub(super) async fn place(self: &Arc<Self>, address: IpAddr) -> ConnectionPermit {
        let network = network(address);
        loop {
            let ended = self.ended.notified();
            if let Some(place) = self.try_place(network) {
                return place;
            }
            self.evict();
            // A connection that becomes idle tells nobody.
            let _ = tokio::time::timeout(LOOK_AGAIN, ended).await;
        }
    }

    fn try_place(self: &Arc<Self>, network: IpAddr) -> Option<ConnectionPermit> {
        let mut entries = self.entries.lock();
        if entries.open.len() >= self.limit {
            return None;
        }
        let number = entries.next;
        entries.next += 1;
        let connection = Arc::new(ServedConnection::new(network, self));
        *entries.networks.entry(network).or_default() += 1;
        entries.open.insert(number, connection.clone());
        Some(ConnectionPermit { table: self.clone(), number, connection })
    }

    /// Closes the connection that has been in the least important phase for the longest, of the network with the most.
    fn evict(&self) {
        let now = self.clock.now();
        let entries = self.entries.lock();
        let candidates = entries.open.values().filter(|it| !it.evicted.is_cancelled()).filter_map(|it| {
            let (phase, since) = *it.phase.lock();
            let is_young = now.saturating_duration_since(since) < GRACE;
            let of_network = entries.networks.get(&it.network).copied().unwrap_or_default();
            (phase != ConnectionPhase::Serving).then_some(((Reverse(of_network), is_young, phase, since), it))
        });
        if let Some((_, connection)) = candidates.min_by_key(|(key, _)| *key) {
            connection.evict();
        }
    }

    /// Closes connections until their messages fit into memory again: those that have sent or read for the longest, of the
    /// network that holds the most. False if only requests that are being served are left.
    fn make_room(&self) -> bool {
        while self.memory.is_exceeded() {
            let now = self.clock.now();
            let entries = self.entries.lock();
            let holders = || entries.open.values().filter(|it| it.messages.counted() > 0);
            let mut networks: HashMap<IpAddr, usize> = HashMap::new();
            for holder in holders() {
                *networks.entry(holder.network).or_default() += holder.messages.counted();
            }
            let candidates = holders().filter(|it| !it.evicted.is_cancelled()).filter_map(|it| {
                let (phase, since) = *it.phase.lock();
                let is_old = now.saturating_duration_since(since) >= GRACE;
                let of_network = networks.get(&it.network).copied().unwrap_or_default();
                (phase != ConnectionPhase::Serving || it.messages.is_unread())
                    .then_some(((is_old, of_network, Reverse(since)), it))
            });
            let Some((_, connection)) = candidates.max_by_key(|(key, _)| *key) else { return false };
            connection.close_for_memory();
        }
        true
    }
}

/// Those whose connections count together: one address, or the 64 bits of IPv6 that one customer has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

impl ServedConnection {
    fn new(network: IpAddr, table: &Arc<ConnectionTable>) -> Self {
        Self {
            table: Arc::downgrade(table),
            network,
            messages: HeldMessages::new(table.memory.clone()),
            clock: table.clock.clone(),
            shares: table.shares.clone(),
            share: Mutex::default(),
            phase: Mutex::new((ConnectionPhase::New, table.clock.now())),
            evicted: CancellationToken::new(),
        }
    }

    pub(super) fn enter(&self, phase: ConnectionPhase) {
        *self.phase.lock() = (phase, self.clock.now());
        if phase == ConnectionPhase::Idle {
            drop(self.share.lock().take());
        }
    }

    /// Serves this principal until it is idle.
    pub(super) fn serve(&self, principal: &Principal) -> Result<(), ShareUsed> {
        *self.share.lock() = Some(self.shares.acquire_connection(principal)?);
        Ok(())
    }

    /// What a request of this principal holds of the memory, for which others may be closed; none if that is little. To be
    /// kept as long as the request: in a session it goes on when its connection has ended.
    pub(super) fn hold_served(&self, principal: &Principal, bytes: usize) -> Result<Option<LargeRequest>, ShareUsed> {
        self.messages.set_request(0);
        let bytes = bytes.saturating_sub(UNCOUNTED);
        let Some(table) = self.table.upgrade().filter(|_| bytes > 0) else { return Ok(None) };
        let share = self.shares.acquire_bytes(principal, bytes)?;
        let request = LargeRequest { _share: share, _held: table.memory.hold(bytes) };
        if table.make_room() { Ok(Some(request)) } else { Err(ShareUsed::All) }
    }

    /// Holds so many bytes of the request that it receives, for which others may be closed. False if there is no memory for
    /// them. Does not return if this one is closed.
    pub(super) async fn hold_request(&self, bytes: usize) -> bool {
        let fits = !self.evicted.is_cancelled() && {
            self.messages.set_request(bytes);
            self.make_room()
        };
        if self.evicted.is_cancelled() {
            pending::<()>().await;
        }
        fits
    }

    /// Holds so many bytes of an answer until its client reads them. Others, or this one, may be closed for them.
    pub(super) fn hold_answer(&self, bytes: usize) {
        self.messages.add_unread(bytes);
        self.make_room();
    }

    fn make_room(&self) -> bool {
        self.table.upgrade().is_none_or(|table| table.make_room())
    }

    /// Enters the phase of a request. Does not return if the connection is to be closed: the request is not begun then.
    pub(super) async fn begin(&self, phase: ConnectionPhase) {
        let may_begin = {
            let mut current = self.phase.lock();
            let may_begin = !self.evicted.is_cancelled();
            if may_begin {
                *current = (phase, self.clock.now());
            }
            may_begin
        };
        if !may_begin {
            pending::<()>().await;
        }
    }

    /// Closes it for another one, unless it is being served by now.
    fn evict(&self) {
        let current = self.phase.lock();
        if current.0 != ConnectionPhase::Serving {
            self.evicted.cancel();
        }
    }

    /// Closes it for the memory that its messages take, unless its request is being served by now.
    fn close_for_memory(&self) {
        let current = self.phase.lock();
        if current.0 != ConnectionPhase::Serving || self.messages.is_unread() {
            self.evicted.cancel();
            self.messages.release();
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The address of the client, or its network.
    pub(super) fn network(&self) -> IpAddr {
        self.network
    }

    pub(super) fn phase(&self) -> ConnectionPhase {
        self.phase.lock().0
    }

    /// Resolves if no request has come after so long.
    pub(super) async fn first_head_is_late(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if self.phase() != ConnectionPhase::New {
            pending::<()>().await;
        }
    }

    /// Resolves when the connection is to be closed for another one.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut entries = self.table.entries.lock();
        entries.open.remove(&self.number);
        if let Some(count) = entries.networks.get_mut(&self.connection.network) {
            *count -= 1;
            if *count == 0 {
                entries.networks.remove(&self.connection.network);
            }
        }
        drop(entries);
        // Only those who wait: an end from before is no reason to close one more.
        self.table.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
