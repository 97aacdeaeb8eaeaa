//! Chains of calls that leave the host and come back: while a client runs a tool for a call, what it calls here in turn
//! belongs to that call. A chain is known by a random name, to its own principal, as long as its call is under way, so
//! there are never more of them than reverse calls at once.

use crate::seal::random;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use plugins::registry::{Parent, Purse};
use policy::{Budget, Lineage, Principal, Spent};
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// `_meta` key of a request: the chain that it continues.
pub(super) const KEY: &str = "dev.portcullis/chain";

/// The chains of a process. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Chains(Arc<Mutex<HashMap<String, Arc<Link>>>>);

/// A reverse call that is under way.
struct Link {
    principal: Principal,
    lineage: Lineage,
    given: Stock,
    left: Mutex<Stock>,
}

/// What there is to spend.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stock {
    fuel: Option<u64>,
    cpu: Option<Duration>,
    time: Duration,
}

/// A chain can be continued until this is dropped.
pub(super) struct Named {
    chains: Chains,
    name: String,
    link: Arc<Link>,
}

/// One call that continues a chain, with the part of what was left that it may use.
struct Part {
    link: Arc<Link>,
    taken: OnceLock<Stock>,
}

impl Chains {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reverse call begins.
    pub(super) fn name(
        &self,
        principal: &Principal,
        lineage: &Lineage,
        budget: &Budget,
        now: Instant,
    ) -> io::Result<Named> {
        let name = URL_SAFE_NO_PAD.encode(random::<16>()?);
        let given = Stock { fuel: budget.fuel, cpu: budget.cpu, time: budget.deadline.saturating_duration_since(now) };
        let (principal, lineage) = (principal.clone(), lineage.clone());
        let link = Arc::new(Link { principal, lineage, given, left: Mutex::new(given) });
        self.open().insert(name.clone(), link.clone());
        Ok(Named { chains: self.clone(), name, link })
    }

    /// What a request inherits that continues a chain; none when it stands for itself.
    pub(crate) fn parent(
        &self,
        context: &RequestContext<RoleServer>,
        principal: &Principal,
    ) -> Result<Option<Parent>, ErrorData> {
        match context.meta.get(KEY) {
            None => Ok(None),
            Some(name) => self.continued(name, principal).map(Some).ok_or_else(|| {
                let text = format!("_meta[\"{KEY}\"] is not a chain that is open; leave it out to call on its own");
                ErrorData::invalid_params(text, None)
            }),
        }
    }

    fn continued(&self, name: &Value, principal: &Principal) -> Option<Parent> {
        let link = self.open().get(name.as_str()?).filter(|link| link.principal == *principal)?.clone();
        Some(Parent::Outside { lineage: link.lineage.clone(), purse: Arc::new(Part { link, taken: OnceLock::new() }) })
    }
}

impl Link {
    fn left(&self) -> MutexGuard<'_, Stock> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stock {
    fn take_half(&mut self) -> Self {
        let half = Self { fuel: self.fuel.map(|fuel| fuel / 2), cpu: self.cpu.map(|cpu| cpu / 2), time: self.time };
        self.fuel = self.fuel.map(|fuel| fuel - fuel / 2);
        self.cpu = self.cpu.map(|cpu| cpu - cpu / 2);
        half
    }
}

impl Named {
    pub(super) fn as_str(&self) -> &str {
        &self.name
    }

    /// What the calls that continued it used. One that is still running counts with all that it may use.
    pub(super) fn spent(&self) -> Spent {
        let (given, left) = (self.link.given, *self.link.left());
        let fuel = given.fuel.zip(left.fuel).map(|(given, left)| given.saturating_sub(left));
        let cpu = given.cpu.zip(left.cpu).map(|(given, left)| given.saturating_sub(left));
        let cpu = cpu.unwrap_or_default();
        Spent { fuel, cpu, elsewhere: cpu }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.chains.open().remove(&self.name);
    }
}

impl Purse for Part {
    /// Half of what is left, so that another one beside it has something too.
    fn take(&self, now: Instant) -> Budget {
        let Stock { fuel, cpu, time } = *self.taken.get_or_init(|| self.link.left().take_half());
        Budget { fuel, cpu, deadline: now + time, time }
    }

    fn settle(&self, spent: Spent, time: Duration) {
        let Some(taken) = self.taken.get() else { return };
        let mut left = self.link.left();
        let fuel = taken.fuel.map(|taken| taken.saturating_sub(spent.as_fuel()));
        left.fuel = left.fuel.zip(fuel).map(|(left, back)| left.saturating_add(back));
        let cpu = taken.cpu.map(|taken| taken.saturating_sub(spent.cpu));
        left.cpu = left.cpu.zip(cpu).map(|(left, back)| left.saturating_add(back));
        left.time = left.time.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::{Clock as _, SystemClock};
    use policy::Limits;

    const SECOND: Duration = Duration::from_secs(1);

    fn named(chains: &Chains) -> (Named, Principal, Instant) {
        let (ann, now) = (Principal::known("key", "ann"), SystemClock.now());
        let lineage = Lineage::root("plugins.a.x".into(), &Limits::default()).descend("t.y", 0).unwrap();
        let budget = Budget { fuel: Some(1_000), cpu: None, deadline: now + SECOND, time: SECOND };
        (chains.name(&ann, &lineage, &budget, now).unwrap(), ann, now)
    }

    #[test]
    fn a_chain_is_open_to_its_principal_while_its_call_is_under_way() {
        let chains = Chains::default();
        let (named, ann, _) = named(&chains);
        let name = Value::from(named.as_str());
        assert!(named.as_str().len() == 22 && chains.continued(&name, &ann).is_some());
        assert!(chains.continued(&name, &Principal::known("key", "bob")).is_none());
        for other in [Value::from("AAAAAAAAAAAAAAAAAAAAAA"), Value::from(7), Value::Null] {
            assert!(chains.continued(&other, &ann).is_none());
        }
        drop(named);
        assert!(chains.continued(&name, &ann).is_none() && chains.open().is_empty());
    }

    #[test]
    fn what_is_left_is_shared_and_never_refilled() {
        let chains = Chains::default();
        let (named, ann, now) = named(&chains);
        let name = Value::from(named.as_str());
        let go_on = || match chains.continued(&name, &ann) {
            Some(Parent::Outside { purse, .. }) => (purse.take(now), purse),
            _ => panic!("it is open"),
        };
        let ((first, purse), (second, _running)) = (go_on(), go_on());
        assert_eq!((first.fuel, second.fuel, first.deadline), (Some(500), Some(250), now + SECOND));
        purse.settle(Spent { fuel: Some(100), cpu: SECOND, elsewhere: Duration::ZERO }, SECOND / 4);
        let (third, purse) = go_on();
        // 250 and what came back of 500, halved.
        assert_eq!((third.fuel, third.time), (Some(325), SECOND * 3 / 4));
        // More than it had, as by its last step.
        purse.settle(Spent { fuel: Some(400), cpu: SECOND, elsewhere: SECOND }, SECOND);
        assert_eq!((go_on().0.fuel, go_on().0.time), (Some(162), Duration::ZERO));
        assert!(named.spent().fuel.unwrap() >= 100 + 250 + 325);
    }
}
