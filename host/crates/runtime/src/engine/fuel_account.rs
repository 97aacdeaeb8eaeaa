//! The fuel of a tree of calls that can be given more while it runs: how much it may use, how much it has used, and whether it
//! waits for more when nothing is left.
//!
//! The Store of such a call never runs out of fuel: it gets [`RESERVE`] units more than the call's limit. At every tick, the
//! guest's own thread reports to the account what the call has used, and the account decides whether the call goes on. A call
//! may therefore exceed its limit by what it uses in one tick, but what it has used is still counted exactly.

use futures::future::BoxFuture;
use platform::sync::Mutex;
use policy::DayUsedUp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Units that a Store is given beyond its call's limit. More than any call uses in a tick, or ever.
pub(super) const RESERVE: u64 = 1 << 60;
/// How often a call that waits for the next day looks whether it has come.
const LOOK: Duration = Duration::from_secs(10);

/// How much is left of a tree's fuel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FuelStanding {
    #[default]
    Enough,
    /// The tree has used what its root call got, and what was added.
    UsedUp { limit: u64 },
    /// Its principal, or the host, has nothing left today.
    DayUsedUp(DayUsedUp),
}

/// Pays for a tree of calls.
pub trait FuelPayer: Send + Sync {
    /// Pays the part of `used` that is not paid yet. `added` was given to this tree alone, and is used only when nothing else
    /// is left. `durable` means that another process may go on with the tree, and must not pay a second time.
    fn pay(&self, used: u64, added: u64, durable: bool) -> Result<(), DayUsedUp>;
}

/// The fuel of one tree of calls. Clones share it.
#[derive(Clone, Default)]
pub struct FuelAccount(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    standing: watch::Sender<FuelStanding>,
}

#[derive(Default)]
struct State {
    /// The fuel that the root call got; none before it has begun.
    limit: Option<u64>,
    /// How often the user may add the same amount again.
    extensions: u32,
    added: u64,
    /// Whether the tree waits for more when nothing is left. Otherwise it ends.
    waits: bool,
    /// The tree should have waited and could not. It ends when nothing is left, whether its own fuel is used up or that of the
    /// day.
    cannot_wait: bool,
    /// The number of each running call, and what it has used, including the nested calls that it made and that have ended.
    used: Vec<(u64, u64)>,
    next: u64,
    payer: Option<Box<dyn FuelPayer>>,
}

/// Lets a call wait without holding its slot: runs the future, and returns false if the call cannot wait.
pub type Wait = Arc<dyn Fn(BoxFuture<'static, ()>) -> BoxFuture<'static, bool> + Send + Sync>;

/// What a call of the tree does at a tick.
pub(super) enum Tick {
    GoOn,
    Stop,
    /// It waits for this future, and then goes on or stops at the next tick.
    Wait(BoxFuture<'static, ()>),
}

/// One call's part of the account of its tree.
#[derive(Clone)]
pub struct TreeFuel {
    account: FuelAccount,
    wait: Wait,
    is_root: bool,
}

/// Keeps a running call in the account until this is dropped.
pub(super) struct RunningUse {
    account: FuelAccount,
    number: u64,
}

impl FuelAccount {
    /// From now on the tree waits for more when nothing is left. `added` is what it was given so far.
    pub fn wait_for_more(&self, added: u64) {
        let mut state = self.0.state.lock();
        (state.waits, state.added) = (true, state.added.max(added));
    }

    /// From now on the tree ends when nothing is left, even if it waits at the moment.
    pub fn end_when_used_up(&self) {
        let mut state = self.0.state.lock();
        (state.waits, state.cannot_wait) = (false, true);
        drop(state);
        self.0.standing.send_modify(|_| {});
    }

    pub fn waits(&self) -> bool {
        self.0.state.lock().waits
    }

    pub fn add(&self, units: u64) {
        let mut state = self.0.state.lock();
        state.added = state.added.saturating_add(units);
        self.update(&state);
    }

    /// What the tree has used, as of the last ticks of its calls.
    pub fn used(&self) -> u64 {
        self.0.state.lock().total()
    }

    /// The fuel of the root call plus what was added; none before the root call has begun.
    pub fn limit(&self) -> Option<u64> {
        self.0.state.lock().limit()
    }

    /// Whether fuel is left, as a channel that reports each change.
    pub fn standing(&self) -> watch::Receiver<FuelStanding> {
        self.0.standing.subscribe()
    }

    /// The root call begins with this limit, to which its user may add as much `extensions` times. `payer` pays for the tree.
    pub fn begin(&self, limit: u64, extensions: u32, payer: Option<Box<dyn FuelPayer>>) {
        let mut state = self.0.state.lock();
        (state.limit, state.extensions, state.payer) = (Some(limit), extensions, payer);
    }

    /// How often the user may add something, and how much each time.
    pub fn extensions(&self) -> (u32, u64) {
        let state = self.0.state.lock();
        (state.extensions, state.limit.unwrap_or_default())
    }

    /// Records what the whole tree has used, and pays for it.
    fn settle(&self, used: u64) {
        let mut state = self.0.state.lock();
        state.used = vec![(u64::MAX, used)];
        // Whether more is left does not matter any more.
        let _ = state.pay();
    }

    /// The part of one call of the tree.
    pub fn part(&self, wait: Wait, is_root: bool) -> TreeFuel {
        TreeFuel { account: self.clone(), wait, is_root }
    }

    fn update(&self, state: &State) -> bool {
        let standing = state.standing();
        let is_enough = standing == FuelStanding::Enough;
        self.0.standing.send_if_modified(|now| {
            *now != standing && {
                *now = standing;
                true
            }
        });
        is_enough
    }

    /// Returns when something is left, or when the tree is not to wait any more.
    async fn wait(self) {
        let mut standing = self.standing();
        loop {
            let is_enough = {
                let state = self.0.state.lock();
                self.update(&state) || !state.waits
            };
            if is_enough {
                return;
            }
            let waits_for_day = matches!(&*standing.borrow_and_update(), FuelStanding::DayUsedUp(_));
            let look = async {
                match waits_for_day {
                    true => tokio::time::sleep(LOOK).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                // This cannot fail, since `self` keeps the sender alive.
                _ = standing.changed() => {}
                () = look => {}
            }
        }
    }
}

impl State {
    fn limit(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.added))
    }

    fn total(&self) -> u64 {
        self.used.iter().fold(0, |sum, (_, used)| sum.saturating_add(*used))
    }

    fn pay(&self) -> Result<(), DayUsedUp> {
        match &self.payer {
            Some(payer) => payer.pay(self.total(), self.added, self.waits),
            None => Ok(()),
        }
    }

    fn standing(&self) -> FuelStanding {
        let paid = self.pay();
        match (self.limit(), paid) {
            (Some(limit), _) if self.total() >= limit => FuelStanding::UsedUp { limit },
            // Only a task is stopped in the middle because others have used up the fuel of the day.
            (_, Err(day)) if self.waits || self.cannot_wait => FuelStanding::DayUsedUp(day),
            (_, Ok(()) | Err(_)) => FuelStanding::Enough,
        }
    }
}

impl TreeFuel {
    pub(super) fn is_root(&self) -> bool {
        self.is_root
    }

    pub fn waits(&self) -> bool {
        self.account.waits()
    }

    /// The same for a nested call.
    pub fn nested(&self) -> Self {
        Self { is_root: false, ..self.clone() }
    }

    /// What is left when `used` is subtracted, as the guest sees it.
    pub fn left(&self, used: u64) -> u64 {
        self.account.limit().unwrap_or(u64::MAX).saturating_sub(used)
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.account.limit()
    }

    /// Records what the whole tree has used. Called when no call of the tree runs any more.
    pub(super) fn settle(&self, used: u64) {
        self.account.settle(used);
    }

    pub(super) fn day_used_up(&self) -> Option<DayUsedUp> {
        match &*self.account.0.standing.borrow() {
            FuelStanding::DayUsedUp(day) => Some(day.clone()),
            FuelStanding::Enough | FuelStanding::UsedUp { .. } => None,
        }
    }

    pub(super) fn enter(&self) -> RunningUse {
        let mut state = self.account.0.state.lock();
        let number = state.next;
        state.next += 1;
        state.used.push((number, 0));
        RunningUse { account: self.account.clone(), number }
    }

    /// Notes what the call has used up to now, and decides what it does next.
    pub(super) fn tick(&self, call: &RunningUse, used: u64) -> Tick {
        let mut state = self.account.0.state.lock();
        let number = call.number;
        if let Some(place) = state.used.iter_mut().find(|(entry, _)| *entry == number) {
            place.1 = used;
        }
        if self.account.update(&state) {
            return Tick::GoOn;
        }
        if !state.waits {
            return Tick::Stop;
        }
        drop(state);
        let (account, wait) = (self.account.clone(), self.wait.clone());
        Tick::Wait(Box::pin(async move {
            if !wait(Box::pin(account.clone().wait())).await {
                account.end_when_used_up();
            }
        }))
    }
}

impl Drop for RunningUse {
    fn drop(&mut self) {
        self.account.0.state.lock().used.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn waiting() -> Wait {
        Arc::new(|until| Box::pin(until.map(|()| true)))
    }

    #[test]
    fn a_tree_waits_until_it_has_more() {
        let account = FuelAccount::default();
        let root = account.part(waiting(), true);
        account.begin(100, 0, None);
        let call = root.enter();
        assert!(matches!(root.tick(&call, 99), Tick::GoOn));
        assert!(matches!(root.tick(&call, 100), Tick::Stop), "it does not wait yet");
        account.wait_for_more(0);
        let Tick::Wait(mut wait) = root.tick(&call, 101) else { panic!("it waits") };
        assert!((&mut wait).now_or_never().is_none());
        assert_eq!(*account.standing().borrow(), FuelStanding::UsedUp { limit: 100 });
        account.add(1);
        assert!((&mut wait).now_or_never().is_none(), "nothing is left yet");
        account.add(1);
        wait.now_or_never().expect("something is left");
        assert_eq!((account.limit(), account.used(), root.left(101)), (Some(102), 101, 1));
        assert!(matches!(root.tick(&call, 101), Tick::GoOn));
    }

    #[test]
    fn calls_below_count_while_they_run() {
        let account = FuelAccount::default();
        let root = account.part(waiting(), true);
        account.begin(100, 0, None);
        let (call, below) = (root.enter(), root.nested());
        let nested = below.enter();
        assert!(matches!(root.tick(&call, 60), Tick::GoOn));
        assert!(matches!(below.tick(&nested, 39), Tick::GoOn));
        assert!(matches!(below.tick(&nested, 40), Tick::Stop));
        drop(nested);
        assert_eq!(account.used(), 60, "its caller pays now");
        assert!(matches!(root.tick(&call, 99), Tick::GoOn));
    }

    #[test]
    fn a_call_that_cannot_wait_ends() {
        let account = FuelAccount::default();
        let root = account.part(Arc::new(|_| Box::pin(std::future::ready(false))), true);
        account.begin(1, 0, None);
        account.wait_for_more(0);
        let call = root.enter();
        let Tick::Wait(wait) = root.tick(&call, 1) else { panic!("it waits") };
        wait.now_or_never().unwrap();
        assert!(matches!(root.tick(&call, 1), Tick::Stop));
    }

    struct Nothing;

    impl FuelPayer for Nothing {
        fn pay(&self, used: u64, added: u64, _: bool) -> Result<(), DayUsedUp> {
            let owner = policy::FuelOwner::Principal;
            if used > added { Err(DayUsedUp { owner, limit: 0, until: 9 }) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn only_a_tree_that_can_wait_is_stopped_by_what_others_have_used() {
        let account = FuelAccount::default();
        let root = account.part(waiting(), true);
        account.begin(100, 0, Some(Box::new(Nothing)));
        let call = root.enter();
        assert!(matches!(root.tick(&call, 5), Tick::GoOn));
        account.wait_for_more(0);
        let Tick::Wait(mut wait) = root.tick(&call, 6) else { panic!("it waits") };
        assert!((&mut wait).now_or_never().is_none());
        assert!(matches!(&*account.standing().borrow(), FuelStanding::DayUsedUp(_)));
        account.add(6);
        wait.now_or_never().expect("what was added is its own");
    }
}
