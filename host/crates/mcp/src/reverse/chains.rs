//! Chains of calls that leave the host and come back. While a client runs a tool for a call, the calls that it makes
//! here in turn share the lineage and the budget of that call. A chain has a random name that only its principal can
//! use, and exists while its reverse call runs; so there are never more chains than running reverse calls.

use platform::random::random_text;
use platform::sync::Mutex;
use plugins::calls::{BudgetSource, CallParent};
use policy::{Budget, BudgetShare, BudgetUsage, Lineage, Principal, SharedBudget};
use protocol::names::CHAIN_META;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// The open chains of a process, by name. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct CallChains(Arc<Mutex<HashMap<String, Arc<ChainEntry>>>>);

/// The running reverse call that a chain belongs to.
struct ChainEntry {
    principal: Principal,
    lineage: Lineage,
    budget: SharedBudget,
    time_left: Mutex<Duration>,
}

/// Keeps a chain open until it is dropped.
pub(super) struct ChainGuard {
    chains: CallChains,
    name: String,
    entry: Arc<ChainEntry>,
}

/// The part of a chain's remaining budget that one call may use.
struct ChainShare {
    entry: Arc<ChainEntry>,
    reserved: OnceLock<BudgetShare>,
}

impl CallChains {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<ChainEntry>>> {
        self.0.lock()
    }

    pub(super) fn open(
        &self,
        principal: &Principal,
        lineage: &Lineage,
        budget: &Budget,
        time_left: Duration,
    ) -> io::Result<ChainGuard> {
        let name = random_text::<16>()?;
        let (principal, lineage, time_left) = (principal.clone(), lineage.clone(), Mutex::new(time_left));
        let entry = Arc::new(ChainEntry { principal, lineage, budget: SharedBudget::new(budget), time_left });
        self.lock().insert(name.clone(), entry.clone());
        Ok(ChainGuard { chains: self.clone(), name, entry })
    }

    /// The parent of a request that continues a chain; none if the request names no chain.
    pub(crate) fn parent(
        &self,
        context: &RequestContext<RoleServer>,
        principal: &Principal,
    ) -> Result<Option<CallParent>, ErrorData> {
        match context.meta.get(CHAIN_META) {
            None => Ok(None),
            Some(name) => self.find(name, principal).map(Some).ok_or_else(|| {
                let text =
                    format!("_meta[\"{CHAIN_META}\"] is not a chain that is open; leave it out to call on its own");
                ErrorData::invalid_params(text, None)
            }),
        }
    }

    fn find(&self, name: &Value, principal: &Principal) -> Option<CallParent> {
        let entry = self.lock().get(name.as_str()?).filter(|entry| entry.principal == *principal)?.clone();
        Some(CallParent::External {
            lineage: entry.lineage.clone(),
            budget_source: Arc::new(ChainShare { entry, reserved: OnceLock::new() }),
        })
    }
}

impl ChainGuard {
    pub(super) fn as_str(&self) -> &str {
        &self.name
    }

    /// What the calls that continued the chain used. A call that still runs counts with all that it reserved.
    pub(super) fn usage(&self) -> BudgetUsage {
        self.entry.budget.used()
    }
}

impl Drop for ChainGuard {
    fn drop(&mut self) {
        self.chains.lock().remove(&self.name);
    }
}

impl BudgetSource for ChainShare {
    fn reserve(&self, now: Instant) -> Budget {
        let BudgetShare { fuel, cpu } = *self.reserved.get_or_init(|| self.entry.budget.reserve());
        let time = *self.entry.time_left.lock();
        Budget { fuel, cpu, deadline: now + time, time }
    }

    fn settle(&self, usage: BudgetUsage, time: Duration) {
        let Some(reserved) = self.reserved.get() else { return };
        // The call ran in a request of its own, so its CPU time counts as used elsewhere.
        self.entry.budget.settle(*reserved, BudgetUsage { elsewhere: usage.cpu, ..usage });
        let mut left = self.entry.time_left.lock();
        *left = left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::{Clock as _, SystemClock};
    use policy::Limits;

    const SECOND: Duration = Duration::from_secs(1);

    fn open_chain(chains: &CallChains) -> (ChainGuard, Principal, Instant) {
        let (ann, now) = (Principal::from_source("key", "ann"), SystemClock.now());
        let lineage = Lineage::root("plugins.a.x", &Limits::default()).descend("t.y", 0).unwrap();
        let budget = Budget { fuel: Some(1_000), cpu: None, deadline: now + SECOND, time: SECOND };
        (chains.open(&ann, &lineage, &budget, SECOND).unwrap(), ann, now)
    }

    #[test]
    fn only_its_principal_finds_a_chain_until_the_call_ends() {
        let chains = CallChains::default();
        let (chain, ann, _) = open_chain(&chains);
        let name = Value::from(chain.as_str());
        assert!(chain.as_str().len() == 22 && chains.find(&name, &ann).is_some());
        assert!(chains.find(&name, &Principal::from_source("key", "bob")).is_none());
        for other in [Value::from("AAAAAAAAAAAAAAAAAAAAAA"), Value::from(7), Value::Null] {
            assert!(chains.find(&other, &ann).is_none());
        }
        drop(chain);
        assert!(chains.find(&name, &ann).is_none() && chains.lock().is_empty());
    }

    #[test]
    fn the_remaining_budget_is_shared_and_never_refilled() {
        let chains = CallChains::default();
        let (chain, ann, now) = open_chain(&chains);
        let name = Value::from(chain.as_str());
        let reserve = || match chains.find(&name, &ann) {
            Some(CallParent::External { budget_source, .. }) => (budget_source.reserve(now), budget_source),
            _ => panic!("it is open"),
        };
        let ((first, budget_source), (second, _running)) = (reserve(), reserve());
        assert_eq!((first.fuel, second.fuel, first.deadline), (Some(500), Some(250), now + SECOND));
        budget_source.settle(BudgetUsage { fuel: Some(100), cpu: SECOND, elsewhere: Duration::ZERO }, SECOND / 4);
        let (third, budget_source) = reserve();
        // Half of 250 and the 400 that the first did not use.
        assert_eq!((third.fuel, third.time), (Some(325), SECOND * 3 / 4));
        // A call's last step may exceed what it reserved.
        budget_source.settle(BudgetUsage { fuel: Some(400), cpu: SECOND, elsewhere: SECOND }, SECOND);
        assert_eq!((reserve().0.fuel, reserve().0.time), (Some(162), Duration::ZERO));
        assert!(chain.usage().fuel.unwrap() >= 100 + 250 + 325);
    }
}
