//! The chain of calls from a root call down, and the budgets that the whole tree of calls shares.

mod tree_budget;

pub use tree_budget::TreeBudget;

use super::capabilities::SeenOrigins;
use super::{Limits, Origin, PrivateOrigins, SampleUsage};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;
use tree_budget::CallBudgets;

mod usage;

pub use usage::LineageUsage;

/// A limit on nested calls was reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineageError {
    /// The tool is already running further up in the chain.
    #[error("{0} is already being called in this chain: {1}")]
    Cycle(String, String),
    #[error("reverse calls are nested {0} deep already, which is the limit")]
    Depth(u32),
    #[error("this request has made {0} reverse calls already, which is the limit")]
    Calls(u32),
    /// Too many bytes were sent to the agent's tools.
    #[error("the arguments of this request's reverse calls would exceed {0} bytes in all, which is the limit")]
    Arguments(u64),
    /// Too many bytes were received from them.
    #[error("the results of this request's reverse calls exceed {0} bytes in all, which is the limit")]
    Results(u64),
    /// The request has waited too long; in milliseconds.
    #[error("this request has waited for the agent's tools for {0} ms in all, which is the limit")]
    Waiting(u64),
}

/// State that all calls under one root share.
#[derive(Debug, Default)]
struct Tree {
    private: SeenOrigins,
}

/// Wakes a task when its tree of calls has seen private results of another origin. When it is dropped, the task is forgotten.
#[derive(Debug)]
pub struct PrivateWatch {
    lineage: Lineage,
    number: u64,
}

/// The name of a call, its budgets, and the chain above it.
#[derive(Debug)]
struct Chain {
    name: Arc<str>,
    budgets: CallBudgets,
    /// Requests that this call and the calls below it have sent. Each grant limits how many the whole tree may send.
    requests: AtomicU32,
    /// What this call and the calls below it have asked of models.
    sampled: Mutex<SampleUsage>,
    above: Above,
    /// Fuel that calls below have used and that this call has not been charged for yet.
    owed: AtomicU64,
    /// Fuel of this call that has been reported to its caller.
    reported: AtomicU64,
}

/// What is above a call: its caller or, for a root call, the state that its tree shares.
#[derive(Debug)]
enum Above {
    Caller(Arc<Chain>),
    Tree(Tree),
}

impl Chain {
    fn new(name: Arc<str>, budgets: CallBudgets, above: Above) -> Self {
        let (requests, sampled, owed, reported) = Default::default();
        Self { name, budgets, requests, sampled, above, owed, reported }
    }

    fn caller(&self) -> Option<&Self> {
        match &self.above {
            Above::Caller(caller) => Some(caller),
            Above::Tree(_) => None,
        }
    }

    /// This call and its callers, up to the root.
    fn calls(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |chain| chain.caller())
    }

    fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.calls().map(|call| &call.name)
    }

    /// Takes the whole `amount` from this call and its callers. Takes nothing if one has too little left, and fails with its
    /// limit.
    fn take(&self, budget: TreeBudget, amount: u64) -> Result<(), u64> {
        for (paid, call) in self.calls().enumerate() {
            if let Err(limit) = call.budgets.take(budget, amount) {
                self.calls().take(paid).for_each(|call| call.budgets.give_back(budget, amount));
                return Err(limit);
            }
        }
        Ok(())
    }

    fn tree(&self) -> &Tree {
        match &self.above {
            Above::Caller(caller) => caller.tree(),
            Above::Tree(tree) => tree,
        }
    }
}

/// The chain from the root call down to one call, with the budgets of the whole tree. Clones share them.
#[derive(Debug, Clone)]
pub struct Lineage {
    chain: Arc<Chain>,
    depth_limit: u32,
    parallel: u32,
}

impl Lineage {
    /// The chain of a root call of `tool`, under its plugin's limits.
    pub fn root(tool: impl Into<Arc<str>>, limits: &Limits) -> Self {
        let (budgets, above) = (CallBudgets::new(limits), Above::Tree(Tree::default()));
        let chain = Arc::new(Chain::new(tool.into(), budgets, above));
        Self { chain, depth_limit: limits.depth, parallel: limits.parallel }
    }

    /// Extends the chain by a call and counts it. Fails for cycles, and at the limits of depth, calls and bytes of arguments.
    pub fn descend(&self, tool: impl Into<Arc<str>>, arguments: u64) -> Result<Self, LineageError> {
        let tool = tool.into();
        if self.chain.names().any(|name| *name == tool) {
            return Err(LineageError::Cycle(tool.to_string(), format!("{} -> {tool}", self.path())));
        }
        if self.depth() >= self.depth_limit {
            return Err(LineageError::Depth(self.depth_limit));
        }
        let calls = |limit| LineageError::Calls(u32::try_from(limit).unwrap_or(u32::MAX));
        self.take(TreeBudget::Calls, 1).map_err(calls)?;
        self.take(TreeBudget::Arguments, arguments).map_err(LineageError::Arguments)?;
        let (budgets, above) = (CallBudgets::unlimited(), Above::Caller(self.chain.clone()));
        let chain = Arc::new(Chain::new(tool, budgets, above));
        Ok(Self { chain, ..self.clone() })
    }

    /// The share of each of `calls` concurrent calls. All of them together run no more calls at a depth than one call may.
    pub fn split(mut self, calls: usize) -> Self {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX).clamp(1, self.parallel.max(1));
        self.parallel = (self.parallel / calls).max(1);
        self
    }

    fn tree(&self) -> &Tree {
        self.chain.tree()
    }

    /// Applies the limits of the called plugin, which can only tighten. Must happen before the call uses anything.
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.depth_limit = self.depth_limit.min(self.depth() + limits.depth);
        self.parallel = self.parallel.min(limits.parallel);
        self.chain.budgets.tighten(limits);
        self
    }

    /// Takes the whole `amount` from the budgets of this call and of its callers. Takes nothing if one of them has too little
    /// left, and fails with the limit of that one.
    pub fn take(&self, budget: TreeBudget, amount: u64) -> Result<(), u64> {
        self.chain.take(budget, amount)
    }

    /// Counts an amount that is already used. A budget that has less left becomes empty.
    pub fn take_up_to(&self, budget: TreeBudget, amount: u64) {
        self.chain.calls().for_each(|call| call.budgets.take_up_to(budget, amount));
    }

    /// Gives back an amount that was taken and not used.
    pub fn give_back(&self, budget: TreeBudget, amount: u64) {
        self.chain.calls().for_each(|call| call.budgets.give_back(budget, amount));
    }

    /// How much this call and the calls below it have used.
    pub fn used(&self, budget: TreeBudget) -> u64 {
        self.chain.budgets.used(budget)
    }

    /// Counts the bytes of this call's result, before its caller sees it. The caller pays for them.
    pub fn count_result(&self, result: u64) -> Result<(), LineageError> {
        let payer = self.chain.caller().unwrap_or(&self.chain);
        payer.take(TreeBudget::Results, result).map_err(LineageError::Results)
    }

    /// Reports to the caller how much fuel this call has used so far, with the calls below it. Must happen as soon as it is
    /// known: a caller that is stopped meanwhile has to pay too.
    pub fn report_fuel(&self, used: u64) {
        if let Some(caller) = self.chain.caller() {
            let known = self.chain.reported.fetch_max(used, Ordering::Relaxed);
            caller.owed.fetch_add(used.saturating_sub(known), Ordering::Relaxed);
        }
    }

    /// The fuel that calls below have reported since the last time this was called.
    pub fn take_owed_fuel(&self) -> u64 {
        self.chain.owed.swap(0, Ordering::Relaxed)
    }

    /// How long this request may still wait for the client's tools.
    pub fn remaining_wait(&self) -> Result<Duration, LineageError> {
        let (waiting, mut left) = (TreeBudget::Waiting, u64::MAX);
        for call in self.chain.calls() {
            match call.budgets.left(waiting) {
                0 => return Err(LineageError::Waiting(call.budgets.limit(waiting))),
                own => left = left.min(own),
            }
        }
        Ok(Duration::from_millis(left))
    }

    /// Counts time that was spent waiting for the client's tools.
    pub fn count_wait(&self, time: Duration) {
        self.take_up_to(TreeBudget::Waiting, u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    /// Records that the chain has seen a private result of this origin.
    pub fn mark_private(&self, origin: Origin) {
        self.tree().private.mark(origin);
    }

    pub fn watch_private(&self) -> PrivateWatch {
        PrivateWatch { lineage: self.clone(), number: self.tree().private.next_number() }
    }

    /// The origins whose private results the chain has seen.
    pub fn private_origins(&self) -> PrivateOrigins {
        self.tree().private.origins()
    }

    /// The name of this call.
    pub fn name(&self) -> &Arc<str> {
        &self.chain.name
    }

    /// The name of the calling tool; `None` for a root call.
    pub fn caller(&self) -> Option<&Arc<str>> {
        self.chain.caller().map(|caller| &caller.name)
    }

    /// How many reverse calls this call may make at the same time.
    pub fn parallel(&self) -> u32 {
        self.parallel
    }

    /// How many calls are above this one.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.names().count() - 1).unwrap_or(u32::MAX)
    }

    /// Reverse calls made so far in the whole tree.
    pub fn calls(&self) -> u32 {
        let made = self.chain.calls().last().map_or(0, |root| root.budgets.used(TreeBudget::Calls));
        u32::try_from(made).unwrap_or(u32::MAX)
    }

    /// The chain as text, root first.
    pub fn path(&self) -> String {
        let mut names: Vec<&str> = self.chain.names().map(|name| &**name).collect();
        names.reverse();
        names.join(" -> ")
    }
}

impl PrivateWatch {
    /// Wakes this task once. It replaces the task that was given before.
    pub fn wake(&self, task: &Waker) {
        self.lineage.tree().private.wait(self.number, task.clone());
    }
}

impl Drop for PrivateWatch {
    fn drop(&mut self) {
        self.lineage.tree().private.forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SampleGrant, SampleLimit};

    #[test]
    fn chains_end() {
        let limits = Limits { depth: 2, calls: 3, ..Limits::default() };
        let root = Lineage::root("plugins.a.x", &limits);
        let one = root.descend("b.y", 1).unwrap();
        assert!(matches!(one.descend("b.y", 1), Err(LineageError::Cycle(..))));
        let two = one.descend("c.z", 1).unwrap();
        assert_eq!(two.descend("d.z", 1).unwrap_err(), LineageError::Depth(2));
        root.descend("e.x", 1).unwrap();
        assert_eq!(root.descend("f.x", 1).unwrap_err(), LineageError::Calls(3));
        assert_eq!((root.calls(), two.path().as_str()), (3, "plugins.a.x -> b.y -> c.z"));
    }

    #[test]
    fn what_the_tree_shares_is_never_refilled() {
        let (arguments, results) = (bytesize::ByteSize(10), bytesize::ByteSize(4));
        let limits = Limits { call_arguments: arguments, call_results: results, ..Limits::default() };
        let root = Lineage::root("plugins.a.x", &limits);
        let below = root.descend("b.y", 7).unwrap();
        assert_eq!(below.descend("c.z", 4).unwrap_err(), LineageError::Arguments(10));
        root.descend("c.z", 3).unwrap();
        below.count_result(4).unwrap();
        assert_eq!(root.count_result(1), Err(LineageError::Results(4)));
        root.count_wait(Duration::from_secs(1799));
        assert_eq!(below.remaining_wait(), Ok(Duration::from_secs(1)));
        below.count_wait(Duration::from_secs(9));
        assert_eq!(root.remaining_wait(), Err(LineageError::Waiting(1_800_000)));
        assert!(below.count_request(2) && root.count_request(2) && !below.count_request(2) && root.count_request(3));
        let grant = SampleGrant { calls: 2, tokens: 10, fallback: false };
        assert_eq!(below.count_sample(&grant, 11), Err(SampleLimit::Tokens(10)));
        assert!(below.count_sample(&grant, 4).is_ok() && root.count_sample(&grant, 4).is_ok());
        assert_eq!(below.count_sample(&grant, 1), Err(SampleLimit::Calls(2)));
        below.mark_private(Origin::Client);
        assert_eq!(root.private_origins(), PrivateOrigins::from([Origin::Client]));
    }

    #[test]
    fn fuel_is_owed_once() {
        let root = Lineage::root("plugins.a.x", &Limits::default());
        let (one, other) = (root.descend("b.y", 0).unwrap(), root.descend("c.z", 0).unwrap());
        one.report_fuel(5);
        one.clone().with_limits(&Limits::default()).report_fuel(7);
        other.report_fuel(3);
        assert_eq!((root.take_owed_fuel(), root.take_owed_fuel()), (10, 0));
        one.report_fuel(6);
        one.descend("d.z", 0).unwrap().report_fuel(2);
        assert_eq!((root.take_owed_fuel(), one.take_owed_fuel()), (0, 2), "it goes to the caller, and no further");
        root.report_fuel(1);
    }

    #[test]
    fn no_depth_has_more_calls_at_once_than_one_call_may_make() {
        let root = Lineage::root("plugins.a.x", &Limits::default());
        for (calls, left) in [(1, 8), (3, 2), (8, 1), (100, 1)] {
            let below = root.descend("b.y", 0).unwrap().split(calls).with_limits(&Limits::default());
            assert_eq!(below.parallel(), left, "{calls} calls at once");
            assert!(calls.min(8) * below.parallel() as usize <= 8);
        }
    }

    /// The root may use ten, and the plugin in the middle four.
    #[test]
    fn each_budget_is_paid_by_all_callers() {
        let few = |amount: u64| Limits {
            calls: u32::try_from(amount).unwrap(),
            call_arguments: bytesize::ByteSize(amount),
            call_results: bytesize::ByteSize(amount),
            reverse_call_wait: Duration::from_millis(amount),
            questions: u32::try_from(amount).unwrap(),
            file_growth: bytesize::ByteSize(amount),
            log: bytesize::ByteSize(amount),
            log_lines: amount,
            ..Limits::default()
        };
        for budget in TreeBudget::ALL {
            let scale = budget.limit(&few(10)) / 10;
            let root = Lineage::root("plugins.a.x", &few(20));
            root.clone().with_limits(&few(10));
            let middle = || root.descend("b.y", 0).unwrap().with_limits(&few(4));
            let leaf = |middle: &Lineage| middle.descend("c.z", 0).unwrap();
            if matches!(budget, TreeBudget::Refusals | TreeBudget::Spans) {
                root.take(budget, scale * 10).unwrap();
                assert!(leaf(&middle()).take(budget, 7).is_err(), "{budget:?}");
                continue;
            }
            let counted = |lineage: &Lineage| if budget == TreeBudget::Calls { lineage.used(budget) } else { 0 };
            let first = middle();
            let below = leaf(&first);
            let left = 4 - counted(&first);
            below.take(budget, left).unwrap();
            assert_eq!(below.take(budget, 1), Err(4), "{budget:?}: the plugin in the middle has its own limit");
            let second = middle();
            let below = leaf(&second);
            below.take(budget, 3 - counted(&second)).unwrap();
            let left = 10 - root.used(budget);
            assert_eq!(root.take(budget, left + 1), Err(10), "{budget:?}");
            root.take(budget, left).unwrap();
            assert_eq!(below.take(budget, 1), Err(10), "{budget:?}: nothing is left of the tree's");
            assert_eq!(root.used(budget), 10, "{budget:?}: what was refused is not counted");
        }
    }
}
