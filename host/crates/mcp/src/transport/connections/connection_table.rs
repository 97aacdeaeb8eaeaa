//! All open connections of a listener, and what each is doing. When the limit is reached, the least important connection is
//! closed to admit the next client: clients that send little or nothing must not keep others out. A connection of the address
//! with the most connections is closed first. That is not a limit per address, since all clients behind a proxy share one.

use crate::transport::connections::message_memory::{HeldBytes, HeldMessages, MAX_HELD, MessageMemory, UNCOUNTED};
use crate::transport::connections::serving_shares::{ServingShare, ServingShares, ShareUsed};
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

/// The time that a connection has to send its request: it is closed only after all connections that are older.
const GRACE: Duration = Duration::from_secs(1);
/// How often to look again in a full table for a connection that can be closed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a connection is doing. Connections in earlier phases are closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::transport) enum ConnectionPhase {
    /// No request has come yet.
    New,
    /// The last response is written, or its client does not read it.
    Idle,
    /// The body of a request is being received.
    Body,
    /// A request is being served. Such a connection is never closed for another one.
    Serving,
}

pub(in crate::transport) struct ConnectionTable {
    limit: usize,
    clock: Arc<dyn Clock>,
    /// Half of the connections, and of the memory for messages, may serve one principal.
    shares: Arc<ServingShares>,
    memory: Arc<MessageMemory>,
    entries: Mutex<Entries>,
    /// Notified when a connection has ended.
    ended: Notify,
}

#[derive(Default)]
struct Entries {
    next: u64,
    open: HashMap<u64, Arc<ServedConnection>>,
    /// The number of connections of each network.
    networks: HashMap<IpAddr, usize>,
}

/// Memory and share that a large request holds.
pub(in crate::transport) struct LargeRequest {
    _share: ServingShare,
    _held: HeldBytes,
}

/// The state of one connection.
pub(in crate::transport) struct ServedConnection {
    table: Weak<ConnectionTable>,
    network: IpAddr,
    pub(in crate::transport) messages: HeldMessages,
    clock: Arc<dyn Clock>,
    shares: Arc<ServingShares>,
    /// The share of the principal that is served now.
    share: Mutex<Option<ServingShare>>,
    /// The phase, and when it began.
    phase: Mutex<(ConnectionPhase, Instant)>,
    evicted: CancellationToken,
}

/// A connection's place in the table; dropping it gives the place back.
pub(in crate::transport) struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    number: u64,
    pub(in crate::transport) connection: Arc<ServedConnection>,
}

impl ConnectionTable {
    pub(in crate::transport) fn new(limit: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_memory(limit, MAX_HELD, clock)
    }

    fn with_memory(limit: usize, memory: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (shares, memory) = (ServingShares::new(limit.div_ceil(2), memory / 2), MessageMemory::new(memory));
        Arc::new(Self { limit, clock, shares, memory, entries: Mutex::default(), ended: Notify::new() })
    }

    /// Waits for a place for a client of this address, and closes another connection to make room if necessary.
    pub(in crate::transport) async fn place(self: &Arc<Self>, address: IpAddr) -> ConnectionPermit {
        let network = network(address);
        loop {
            let ended = self.ended.notified();
            if let Some(place) = self.try_place(network) {
                return place;
            }
            self.evict();
            // A connection that becomes idle notifies nobody, so this looks again after a while.
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

    /// Closes one connection of the network with the most: the one in the least important phase, and among those the one that
    /// has been in it for the longest.
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

    /// Closes connections until the messages fit into memory again: of the network that holds the most, those first that have
    /// been sending or reading for the longest. False if only requests that are being served are left.
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

/// The network whose connections count together: one address, or the 64-bit prefix that one IPv6 customer has.
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

    pub(in crate::transport) fn enter(&self, phase: ConnectionPhase) {
        *self.phase.lock() = (phase, self.clock.now());
        if phase == ConnectionPhase::Idle {
            drop(self.share.lock().take());
        }
    }

    /// Counts the connection for this principal until the connection is idle.
    pub(in crate::transport) fn serve(&self, principal: &Principal) -> Result<(), ShareUsed> {
        *self.share.lock() = Some(self.shares.acquire_connection(principal)?);
        Ok(())
    }

    /// Holds memory for a request of this principal, and may close other connections to make room; none if the request is
    /// small. Keep the result as long as the request runs: in a session, the request goes on after its connection has ended.
    pub(in crate::transport) fn hold_served(
        &self,
        principal: &Principal,
        bytes: usize,
    ) -> Result<Option<LargeRequest>, ShareUsed> {
        self.messages.set_request(0);
        let bytes = bytes.saturating_sub(UNCOUNTED);
        let Some(table) = self.table.upgrade().filter(|_| bytes > 0) else { return Ok(None) };
        let share = self.shares.acquire_bytes(principal, bytes)?;
        let request = LargeRequest { _share: share, _held: table.memory.hold(bytes) };
        if table.make_room() { Ok(Some(request)) } else { Err(ShareUsed::All) }
    }

    /// Holds this many bytes for the request that it is receiving, and may close other connections to make room. False if there
    /// is no memory for them. Never returns if this connection is closed.
    pub(in crate::transport) async fn hold_request(&self, bytes: usize) -> bool {
        let fits = !self.evicted.is_cancelled() && {
            self.messages.set_request(bytes);
            self.make_room()
        };
        if self.evicted.is_cancelled() {
            pending::<()>().await;
        }
        fits
    }

    /// Holds this many bytes of a response until its client reads them. May close other connections to make room, or this one.
    pub(in crate::transport) fn hold_answer(&self, bytes: usize) {
        self.messages.add_unread(bytes);
        self.make_room();
    }

    fn make_room(&self) -> bool {
        self.table.upgrade().is_none_or(|table| table.make_room())
    }

    /// Enters the phase of a request. Never returns if the connection is to be closed, so that the request is not begun.
    pub(in crate::transport) async fn begin(&self, phase: ConnectionPhase) {
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

    /// Closes it to admit another connection, unless it is being served by now.
    fn evict(&self) {
        let current = self.phase.lock();
        if current.0 != ConnectionPhase::Serving {
            self.evicted.cancel();
        }
    }

    /// Closes it to free the memory of its messages. While it is being served, this happens only if its client leaves data
    /// unread.
    fn close_for_memory(&self) {
        let current = self.phase.lock();
        if current.0 != ConnectionPhase::Serving || self.messages.is_unread() {
            self.evicted.cancel();
            self.messages.release();
        }
    }

    pub(in crate::transport) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The network that the connection counts for: the client's address, or its IPv6 prefix.
    pub(in crate::transport) fn network(&self) -> IpAddr {
        self.network
    }

    pub(in crate::transport) fn phase(&self) -> ConnectionPhase {
        self.phase.lock().0
    }

    /// Returns if no request has come after this time.
    pub(in crate::transport) async fn first_head_is_late(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if self.phase() != ConnectionPhase::New {
            pending::<()>().await;
        }
    }

    /// Returns when the connection is to be closed to make room.
    pub(in crate::transport) async fn evicted(&self) {
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
        // Wakes only those who wait now: a connection that ended earlier is no reason to admit one more.
        self.table.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
