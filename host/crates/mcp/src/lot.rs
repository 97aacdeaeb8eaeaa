//! Where parked calls wait for their client to come back with answers: bounded by number, by memory and by age.

use super::pending::{Pending, Return};
use super::round::Live;
use super::seal::{Binding, ParkedId, Sealer, random};
use platform::clock::Clock;
use policy::{ParkingLimits, Principal};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many parked calls that were given up are remembered, so that their clients can be told why.
const REMEMBERED: usize = 4_096;
/// How often expired calls are looked for. Their states are refused on the dot; this is only about memory.
const SWEEP: Duration = Duration::from_secs(5);

/// The parked calls of a process.
pub struct Lot {
    sealer: Sealer,
    limits: ParkingLimits,
    clock: Arc<dyn Clock>,
    began: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    parked: HashMap<ParkedId, Parked>,
    given_up: VecDeque<(ParkedId, GivenUp)>,
    held: u64,
    /// Legacy calls that wait on their own streams, by principal. They cannot be given up for others.
    standing: HashMap<Principal, usize>,
}

/// A legacy call may wait until this is dropped.
pub(super) struct Standing {
    lot: Arc<Lot>,
    principal: Principal,
}

impl Drop for Standing {
    fn drop(&mut self) {
        let mut inner = self.lot.lock();
        if let Some(count) = inner.standing.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                inner.standing.remove(&self.principal);
            }
        }
    }
}

struct Parked {
    live: Live,
    pending: Pending,
    principal: Principal,
    since: Instant,
    expires: Instant,
    held: u64,
}

/// Why a parked call is not there; a sentence for the client.
pub(super) struct Gone(pub(super) &'static str);

/// Why a parked call was given up.
#[derive(Debug, Clone, Copy)]
enum GivenUp {
    Expired,
    Crowded,
}

impl Gone {
    /// Says as little as possible to whoever tries names out.
    fn invalid(way: Return) -> Self {
        Self(match way {
            Return::State => "Invalid or expired requestState",
            Return::Continuation => "Invalid or expired continuation",
        })
    }

    /// Says why to whoever had the name.
    fn because(way: Return, why: GivenUp) -> Self {
        Self(match (way, why) {
            (Return::State, GivenUp::Expired) => {
                "Invalid or expired requestState: nobody answered in time, and the call was given up; call again without requestState"
            }
            (Return::State, GivenUp::Crowded) => {
                "Invalid or expired requestState: too many calls were waiting for answers, and this one was given up; call again without requestState"
            }
            (Return::Continuation, GivenUp::Expired) => {
                "Invalid or expired continuation: no outcomes came in time, and the call was given up; call again without it"
            }
            (Return::Continuation, GivenUp::Crowded) => {
                "Invalid or expired continuation: too many calls were waiting, and this one was given up; call again without it"
            }
        })
    }
}

impl Lot {
    /// Empty. Expired calls are let go for as long as the lot is in use.
    pub fn new(limits: ParkingLimits, clock: Arc<dyn Clock>) -> std::io::Result<Arc<Self>> {
        let began = clock.now();
        let lot = Arc::new(Self { sealer: Sealer::new()?, limits, clock, began, inner: Mutex::default() });
        let swept = Arc::downgrade(&lot);
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(SWEEP);
            loop {
                interval.tick().await;
                let Some(lot) = swept.upgrade() else { return };
                lot.sweep();
            }
        });
        Ok(lot)
    }

    /// Calls that are parked now.
    pub fn parked(&self) -> usize {
        self.lock().parked.len()
    }

    /// Parks a call; the state that brings it back. Others may have to go for it.
    pub(super) fn park(
        &self,
        live: Live,
        pending: Pending,
        principal: &Principal,
        binding: &Binding,
    ) -> std::io::Result<String> {
        let id: ParkedId = random()?;
        let now = self.clock.now();
        let expires = now + pending.patience();
        let state = self.sealer.seal(id, self.millis(expires), &binding.of(pending.comes_back_with()))?;
        let held = pending.held();
        let parked = Parked { live, pending, principal: principal.clone(), since: now, expires, held };
        let mut let_go = Vec::new();
        let mut inner = self.lock();
        while let Some(oldest) = inner.must_go(&self.limits, principal, held) {
            let_go.extend(inner.give_up(oldest, GivenUp::Crowded));
        }
        inner.held += held;
        inner.parked.insert(id, parked);
        drop(inner);
        // Dropped outside the lock: ending calls takes its time.
        drop(let_go);
        Ok(state)
    }

    /// The call behind a state or a continuation. It is no longer parked then: each works once, and only as what it is.
    pub(super) fn take(&self, state: &str, way: Return, binding: &Binding) -> Result<(Live, Pending), Gone> {
        let (id, expires) = self.sealer.open(state, &binding.of(way)).ok_or_else(|| Gone::invalid(way))?;
        let mut inner = self.lock();
        if expires <= self.millis(self.clock.now()) {
            let let_go = inner.give_up(id, GivenUp::Expired);
            drop(inner);
            drop(let_go);
            return Err(Gone::because(way, GivenUp::Expired));
        }
        match inner.parked.remove(&id) {
            Some(parked) => {
                inner.held -= parked.held;
                Ok((parked.live, parked.pending))
            }
            None => {
                let why = inner.given_up.iter().find(|(gone, _)| *gone == id);
                Err(why.map_or_else(|| Gone::invalid(way), |(_, why)| Gone::because(way, *why)))
            }
        }
    }

    /// Lets a legacy call wait on its own stream; otherwise the number that wait already.
    pub(super) fn stand(self: &Arc<Self>, principal: &Principal) -> Result<Standing, usize> {
        let mut inner = self.lock();
        let own = inner.standing.get(principal).copied().unwrap_or(0);
        if own >= self.limits.per_principal {
            return Err(self.limits.per_principal);
        }
        if inner.standing.values().sum::<usize>() >= self.limits.calls {
            return Err(self.limits.calls);
        }
        *inner.standing.entry(principal.clone()).or_default() += 1;
        Ok(Standing { lot: self.clone(), principal: principal.clone() })
    }

    fn sweep(&self) {
        let now = self.clock.now();
        let mut inner = self.lock();
        let expired: Vec<ParkedId> =
            inner.parked.iter().filter(|(_, parked)| parked.expires <= now).map(|(id, _)| *id).collect();
        let let_go: Vec<_> = expired.into_iter().filter_map(|id| inner.give_up(id, GivenUp::Expired)).collect();
        drop(inner);
        drop(let_go);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Inner {
    /// The call that must go before another of this principal, holding this much, may park.
    fn must_go(&self, limits: &ParkingLimits, principal: &Principal, held: u64) -> Option<ParkedId> {
        let oldest = |of: Option<&Principal>| {
            let theirs = self.parked.iter().filter(|(_, parked)| of.is_none_or(|of| parked.principal == *of));
            theirs.min_by_key(|(_, parked)| parked.since).map(|(id, _)| *id)
        };
        let own = self.parked.values().filter(|parked| parked.principal == *principal).count();
        if own >= limits.per_principal {
            return oldest(Some(principal));
        }
        let full = self.parked.len() >= limits.calls || self.held.saturating_add(held) > limits.memory.as_u64();
        if !full || self.parked.is_empty() {
            return None;
        }
        // Whoever has most gives first.
        let mut counts: HashMap<&Principal, usize> = HashMap::new();
        for parked in self.parked.values() {
            *counts.entry(&parked.principal).or_default() += 1;
        }
        oldest(counts.into_iter().max_by_key(|(_, count)| *count).map(|(principal, _)| principal))
    }

    fn give_up(&mut self, id: ParkedId, why: GivenUp) -> Option<Parked> {
        let parked = self.parked.remove(&id)?;
        self.held -= parked.held;
        self.given_up.push_back((id, why));
        if self.given_up.len() > REMEMBERED {
            self.given_up.pop_front();
        }
        tracing::info!(principal = %parked.principal, "gave up a parked call: {why:?}");
        Some(parked)
    }
}
