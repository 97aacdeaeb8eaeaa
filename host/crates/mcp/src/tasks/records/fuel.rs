//! The fuel of a task: what was added to it, and how its call waits when nothing is left.

use crate::calls::wait_permits::{WaitPermit, WaitPermits};
use crate::tasks::records::table::TaskId;
use policy::Principal;
use runtime::engine::{FuelAccount, FuelStanding, HeldResources};
use serde::{Deserialize, Serialize};
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// Requests for fuel that are recognized when they come again. Such a request comes twice if the process ends after it has
/// added the fuel and before it has removed the request.
const KNOWN_REQUESTS: usize = 32;

/// What is stored of a task's fuel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TaskFuel {
    /// Units that its call and the calls below it had used when this was stored.
    pub(crate) used: u64,
    /// Units that it may use, including those added; none before its call has begun.
    pub(crate) limit: Option<u64>,
    pub(crate) added: u64,
    /// How often its user has granted more.
    pub(in crate::tasks) extended: u32,
    /// Why its call waits for fuel, if it does.
    pub(crate) paused: Option<Paused>,
    /// The last requests that have added something.
    requests: Vec<String>,
}

/// Why a call waits for fuel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Paused {
    /// A sentence.
    pub(in crate::tasks) why: String,
    /// When there is fuel again, in milliseconds since 1970; none if only the operator can add some.
    pub(in crate::tasks) until: Option<u64>,
}

impl TaskFuel {
    /// Adds fuel. False if this request was already granted.
    pub(in crate::tasks) fn add(&mut self, request: &str, units: u64) -> bool {
        if self.requests.iter().any(|known| known == request) {
            return false;
        }
        if self.requests.len() == KNOWN_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push(request.to_owned());
        // If the added fuel is not enough, the call is paused again.
        self.paused = None;
        self.added = self.added.saturating_add(units);
        true
    }
}

/// The fuel of the call that a task serves now.
pub(in crate::tasks) struct CallFuel {
    account: Option<FuelAccount>,
    standing: Option<watch::Receiver<FuelStanding>>,
    permits: Arc<WaitPermits>,
    principal: Principal,
    held: HeldResources,
    waits: Option<Wait>,
    /// The call does not wait any more, and ends if there is too little fuel.
    has_given_up: bool,
}

struct Wait {
    paused: Paused,
    /// Held as by a call that waits for an answer; none if the limit of waiting calls is reached.
    permit: Option<WaitPermit>,
}

impl CallFuel {
    /// Makes the call wait, from now on, when no fuel is left. `added` is what its task was given so far.
    pub(in crate::tasks) fn new(
        account: Option<FuelAccount>,
        added: u64,
        permits: Arc<WaitPermits>,
        principal: Principal,
        held: HeldResources,
    ) -> Self {
        if let Some(account) = &account {
            account.wait_for_more(added);
        }
        let standing = account.as_ref().map(FuelAccount::standing);
        Self { account, standing, permits, principal, held, waits: None, has_given_up: false }
    }

    pub(in crate::tasks) fn account(&self) -> Option<FuelAccount> {
        self.account.clone()
    }

    /// What the call has used in this process.
    pub(in crate::tasks) fn used(&self) -> u64 {
        self.account.as_ref().map_or(0, FuelAccount::used)
    }

    pub(in crate::tasks) fn add(&self, units: u64) {
        if let Some(account) = &self.account {
            account.add(units);
        }
    }

    /// Returns when the amount of fuel left has changed. [`Self::look`] then reads it.
    pub(in crate::tasks) async fn changed(&mut self) {
        let over = match &mut self.standing {
            Some(standing) => standing.changed().await.is_err(),
            None => true,
        };
        if over {
            pending().await
        }
    }

    /// Reads how much fuel is left, and pauses the call or lets it go on.
    pub(in crate::tasks) fn look(&mut self, task: &TaskId) {
        let standing = self.standing.as_mut().map(|standing| standing.borrow_and_update().clone());
        let paused = match standing.unwrap_or_default() {
            FuelStanding::Enough => {
                self.waits = None;
                return;
            }
            _ if self.has_given_up => return,
            FuelStanding::UsedUp { limit } => {
                let why = format!(
                    "Paused: all {limit} units of fuel that the call got are used up. The operator can give it more."
                );
                Paused { why, until: None }
            }
            FuelStanding::DayUsedUp(day) => {
                Paused { why: format!("Paused: {day}."), until: Some(day.until.saturating_mul(1_000)) }
            }
        };
        if let Some(waits) = &mut self.waits {
            waits.paused = paused;
            return;
        }
        tracing::warn!(
            task = &**task,
            "a task waits for fuel; `portcullis task top-up {} --fuel UNITS` gives it some: {}",
            &**task,
            paused.why
        );
        let permit = self.permits.acquire(&self.principal, self.held.now()).ok();
        self.waits = Some(Wait { paused, permit });
    }

    /// Why the call waits for fuel, if it does.
    pub(in crate::tasks) fn paused(&self) -> Option<&Paused> {
        self.waits.as_ref().map(|waits| &waits.paused)
    }

    /// How often its user may be asked for more, and how much each time; none if the call does not wait for that.
    pub(in crate::tasks) fn extensions(&self) -> Option<(u32, u64)> {
        let waits_for_more = self.paused().is_some_and(|paused| paused.until.is_none());
        self.account.as_ref().filter(|_| waits_for_more).map(FuelAccount::extensions)
    }

    /// Whether it waits without a permit, since the limit of waiting calls is reached.
    pub(in crate::tasks) fn lacks_permit(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.permit.is_none())
    }

    /// Ends the call if it waits.
    pub(in crate::tasks) fn give_up(&mut self) {
        (self.waits, self.has_given_up) = (None, true);
        if let Some(account) = &self.account {
            account.end_when_used_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_adds_once() {
        let mut fuel = TaskFuel::default();
        assert!(fuel.add("a", 5) && !fuel.add("a", 5) && fuel.add("b", 1));
        assert_eq!(fuel.added, 6);
        for number in 0..2 * KNOWN_REQUESTS {
            assert!(fuel.add(&number.to_string(), 1));
        }
        assert_eq!(fuel.requests.len(), KNOWN_REQUESTS);
    }
}
