//! The chain of calls from a root call down, and the budgets that the whole tree of calls shares.

use super::{Limits, Origin, PrivateOrigins};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

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
    /// Too many bytes to the agent's tools.
    #[error("the arguments of this request's reverse calls would exceed {0} bytes in all, which is the limit")]
    Arguments(u64),
    /// Too many bytes from them.
    #[error("the results of this request's reverse calls exceed {0} bytes in all, which is the limit")]
    Results(u64),
    /// Waited for too long; milliseconds.
    #[error("this request has waited for the agent's tools for {0} ms in all, which is the limit")]
    Waiting(u64),
}

/// A shared budget that is never refilled.
#[derive(Debug)]
struct SharedCounter {
    left: AtomicU64,
    limit: u64,
}

impl SharedCounter {
    fn new(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit), limit }
    }

    /// Takes all of `amount`, or nothing and fails with the limit.
    fn take(&self, amount: u64) -> Result<(), u64> {
        let taken = |left: u64| left.checked_sub(amount);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).map(|_| ()).map_err(|_| self.limit)
    }

    fn take_up_to(&self, amount: u64) {
        let taken = |left: u64| Some(left.saturating_sub(amount));
        // Cannot fail: the closure always gives a value.
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
    }

    fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }
}

/// State that all calls under one root share.
#[derive(Debug)]
struct Tree {
    calls: AtomicU32,
    calls_limit: u32,
    requests: AtomicU32,
    arguments: SharedCounter,
    results: SharedCounter,
    /// Milliseconds.
    waiting: SharedCounter,
    private: Mutex<Private>,
}

/// What a tree has seen of private results, and who waits for it to see more.
#[derive(Debug, Default)]
struct Private {
    origins: PrivateOrigins,
    waiting: Vec<Waker>,
}

/// The name of a call, and the chain above it.
#[derive(Debug)]
struct Chain {
    name: Arc<str>,
    above: Above,
}

/// What is above a call: its caller, or for a root call what its tree shares.
#[derive(Debug)]
enum Above {
    Caller(Arc<Chain>),
    Tree(Tree),
}

impl Chain {
    fn caller(&self) -> Option<&Self> {
        match &self.above {
            Above::Caller(caller) => Some(caller),
            Above::Tree(_) => None,
        }
    }

    /// The names from this call up to the root.
    fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        std::iter::successors(Some(self), |chain| chain.caller()).map(|chain| &chain.name)
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
        let tree = Tree {
            calls: AtomicU32::new(0),
            calls_limit: limits.calls,
            requests: AtomicU32::new(0),
            arguments: SharedCounter::new(limits.call_arguments.as_u64()),
            results: SharedCounter::new(limits.call_results.as_u64()),
            waiting: SharedCounter::new(millis(limits.reverse_call_wait)),
            private: Mutex::default(),
        };
        let chain = Arc::new(Chain { name: tool.into(), above: Above::Tree(tree) });
        Self { chain, depth_limit: limits.depth, parallel: limits.parallel }
    }

    /// Extends the chain by a call and counts it. Fails for cycles, and at the limits of depth, calls and argument bytes.
    pub fn descend(&self, tool: impl Into<Arc<str>>, arguments: u64) -> Result<Self, LineageError> {
        let tool = tool.into();
        if self.chain.names().any(|name| *name == tool) {
            return Err(LineageError::Cycle(tool.to_string(), format!("{} -> {tool}", self.path())));
        }
        if self.depth() >= self.depth_limit {
            return Err(LineageError::Depth(self.depth_limit));
        }
        let Tree { calls, calls_limit, .. } = self.tree();
        let counted = calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < *calls_limit).then_some(n + 1));
        if counted.is_err() {
            return Err(LineageError::Calls(*calls_limit));
        }
        self.tree().arguments.take(arguments).map_err(LineageError::Arguments)?;
        let chain = Arc::new(Chain { name: tool, above: Above::Caller(self.chain.clone()) });
        Ok(Self { chain, ..self.clone() })
    }

    fn tree(&self) -> &Tree {
        self.chain.tree()
    }

    /// Applies the limits of the called plugin; they can only tighten.
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.depth_limit = self.depth_limit.min(self.depth() + limits.depth);
        self.parallel = self.parallel.min(limits.parallel);
        self
    }

    /// Counts a result's bytes, before the guest sees it.
    pub fn count_result(&self, result: u64) -> Result<(), LineageError> {
        self.tree().results.take(result).map_err(LineageError::Results)
    }

    /// How long this request may still wait for the client's tools.
    pub fn remaining_wait(&self) -> Result<Duration, LineageError> {
        match self.tree().waiting.left() {
            0 => Err(LineageError::Waiting(self.tree().waiting.limit)),
            left => Ok(Duration::from_millis(left)),
        }
    }

    /// Counts time that was spent waiting for the client's tools.
    pub fn count_wait(&self, time: Duration) {
        self.tree().waiting.take_up_to(millis(time));
    }

    /// Counts a request to another server; `false` when the whole tree has sent `limit` of them.
    pub fn count_request(&self, limit: u32) -> bool {
        let one_more = |sent: u32| (sent < limit).then_some(sent + 1);
        self.tree().requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Records that the chain has seen a private result of this origin.
    pub fn mark_private(&self, origin: Origin) {
        let mut private = self.private();
        if private.origins.insert(origin) {
            let waiting = std::mem::take(&mut private.waiting);
            drop(private);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// Wakes this task once when the chain sees a private result of another origin.
    pub fn wake_when_private(&self, task: &Waker) {
        let mut private = self.private();
        if !private.waiting.iter().any(|waiting| waiting.will_wake(task)) {
            private.waiting.push(task.clone());
        }
    }

    fn private(&self) -> MutexGuard<'_, Private> {
        self.tree().private.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The origins whose private results the chain has seen.
    pub fn private_origins(&self) -> PrivateOrigins {
        self.private().origins.clone()
    }

    /// The name of this call.
    pub fn name(&self) -> &Arc<str> {
        &self.chain.name
    }

    /// The name of the calling tool; `None` for a root call.
    pub fn caller(&self) -> Option<&Arc<str>> {
        self.chain.caller().map(|caller| &caller.name)
    }

    /// How many reverse calls one call may make at the same time.
    pub fn parallel(&self) -> u32 {
        self.parallel
    }

    /// How many calls are above this one.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.names().count() - 1).unwrap_or(u32::MAX)
    }

    /// Reverse calls made so far in the whole tree.
    pub fn calls(&self) -> u32 {
        self.tree().calls.load(Ordering::Relaxed)
    }

    /// The chain as text, root first.
    pub fn path(&self) -> String {
        let mut names: Vec<&str> = self.chain.names().map(|name| &**name).collect();
        names.reverse();
        names.join(" -> ")
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        below.mark_private(Origin::Client);
        assert_eq!(root.private_origins(), PrivateOrigins::from([Origin::Client]));
    }
}
