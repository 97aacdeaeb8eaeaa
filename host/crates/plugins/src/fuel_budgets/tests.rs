//! Days, tasks that go on in another process, and several processes at one store.

use super::budgets::FuelBudgets;
use super::record::BudgetOwner;
use futures::FutureExt as _;
use platform::clock::ManualClock;
use platform::durable::{DurableStore, MemoryStore};
use policy::{FuelLimits, FuelOwner, Principal};
use runtime::engine::{CallError, FuelPayer};
use std::sync::Arc;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

struct World {
    clock: Arc<ManualClock>,
    store: Arc<dyn DurableStore>,
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::at(Duration::from_secs(100 * DAY + 5));
        Self { store: Arc::new(MemoryStore::new(clock.clone())), clock }
    }

    /// The budgets as a separate process has them.
    fn process(&self, per_day: Option<u64>, per_principal: Option<u64>) -> Arc<FuelBudgets> {
        FuelBudgets::new(FuelLimits { per_day, per_principal }, self.clock.clone(), Some(self.store.clone()))
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the store in memory answers at once")
}

fn alice() -> Principal {
    Principal::from_source("key", "alice")
}

fn begin(budgets: &Arc<FuelBudgets>, call: &str) -> Box<dyn FuelPayer> {
    now(budgets.payer(&alice(), call))
}

fn used(budgets: &FuelBudgets) -> u64 {
    now(budgets.read(&BudgetOwner::Principal(alice()))).unwrap().used
}

#[test]
fn a_day_is_used_up_for_its_owner_and_begins_anew() {
    let world = World::new();
    let budgets = world.process(Some(100), Some(60));
    let payer = begin(&budgets, "one");
    payer.pay(59, 0, false).unwrap();
    now(budgets.admit(&alice())).unwrap();
    let day = payer.pay(61, 0, false).unwrap_err();
    assert_eq!((day.owner, day.limit, day.until), (FuelOwner::Principal, 60, 101 * DAY));
    let refused = now(budgets.admit(&alice())).unwrap_err();
    assert!(matches!(refused, CallError::DayUsedUp { .. }) && refused.was_not_started());
    let bob = Principal::from_source("key", "bob");
    now(budgets.admit(&bob)).unwrap();
    let payer_of_bob = now(budgets.payer(&bob, "two"));
    assert_eq!(payer_of_bob.pay(39, 0, false).unwrap_err().owner, FuelOwner::Host, "together they have used all");
    world.clock.set_wall(Duration::from_secs(101 * DAY));
    now(budgets.admit(&alice())).unwrap();
    payer.pay(61, 0, false).unwrap();
    assert_eq!(payer.pay(121, 0, false).unwrap_err().limit, 60);
}

#[test]
fn a_restart_is_no_refill_and_a_task_pays_once() {
    let world = World::new();
    let first = world.process(None, Some(100));
    let payer = begin(&first, "task");
    payer.pay(70, 0, true).unwrap();
    begin(&first, "call").pay(20, 0, false).unwrap();
    now(first.save());
    payer.pay(79, 0, true).unwrap();
    // The process is killed: what it had not stored does not count as paid, so the next process pays for it.
    let second = world.process(None, Some(100));
    let again = begin(&second, "task");
    again.pay(70, 0, true).unwrap();
    assert_eq!(used(&second), 90);
    again.pay(75, 0, true).unwrap();
    now(second.save());
    assert_eq!(used(&second), 95);
    assert!(again.pay(90, 0, true).is_err());
    second.forget(&alice(), "task");
    now(second.save());
    let stored = now(second.read(&BudgetOwner::Principal(alice()))).unwrap();
    assert!(stored.tasks.is_empty() && stored.used == 110, "{stored:?}");
    assert!(now(world.process(None, Some(100)).admit(&alice())).is_err());
}

/// For example a task that is cancelled before its call is made again.
#[test]
fn a_task_of_an_earlier_process_is_forgotten_and_the_day_is_not() {
    let world = World::new();
    let first = world.process(None, Some(100));
    begin(&first, "task").pay(90, 0, true).unwrap();
    now(first.save());
    let second = world.process(None, Some(100));
    second.forget(&alice(), "task");
    now(second.charge(&alice(), 10));
    now(second.admit(&alice())).unwrap_err();
    now(second.save());
    let stored = now(second.read(&BudgetOwner::Principal(alice()))).unwrap();
    assert!(stored.tasks.is_empty() && stored.used == 100, "{stored:?}");
}

#[test]
fn what_was_given_to_a_tree_counts_for_no_day() {
    let world = World::new();
    let first = world.process(None, Some(100));
    let payer = begin(&first, "task");
    payer.pay(100, 0, true).unwrap_err();
    payer.pay(100, 50, true).unwrap();
    payer.pay(130, 50, true).unwrap();
    now(first.save());
    assert_eq!(used(&first), 100);
    let again = begin(&world.process(None, Some(100)), "task");
    again.pay(149, 50, true).unwrap();
    again.pay(150, 50, true).unwrap_err();
}

#[test]
fn processes_at_one_store_share_the_day() {
    let world = World::new();
    let (one, two) = (world.process(None, Some(100)), world.process(None, Some(100)));
    begin(&one, "a").pay(60, 0, false).unwrap();
    begin(&two, "b").pay(50, 0, false).unwrap();
    now(one.save());
    now(two.save());
    assert_eq!(used(&one), 110);
    assert!(now(two.admit(&alice())).is_err());
    // The process learns what the other one has used when it stores something itself.
    begin(&one, "c").pay(1, 0, false).unwrap();
    now(one.save());
    assert!(now(one.admit(&alice())).is_err());
}

#[test]
fn days_that_are_over_are_removed() {
    let world = World::new();
    let budgets = world.process(None, Some(100));
    begin(&budgets, "a").pay(60, 0, false).unwrap();
    now(budgets.save());
    world.clock.set_wall(Duration::from_secs(102 * DAY));
    now(budgets.remove_old(&*world.store)).unwrap();
    let key = BudgetOwner::Principal(alice()).key().unwrap();
    assert!(now(world.store.get(&key)).unwrap().is_none());
}

/// However often processes are killed, trees of calls pay for what they use, and only once.
#[test]
fn trees_pay_what_they_use() {
    for seed in 0..10_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let mut budgets = world.process(None, Some(u64::MAX));
        let (mut before_today, mut all) = (0, 0);
        for call in 0..random.u64(1..4) {
            let mut payer = begin(&budgets, &call.to_string());
            let mut total = 0;
            for _ in 0..random.u64(1..12) {
                match random.u8(0..10) {
                    0 => {
                        // Its process is killed, and it runs again up to where it was.
                        budgets = world.process(None, Some(u64::MAX));
                        payer = begin(&budgets, &call.to_string());
                        (1..=4).for_each(|part| payer.pay(total * part / 4, 0, true).unwrap());
                    }
                    1 => {
                        now(budgets.save());
                        before_today += used(&budgets);
                        world.clock.pass(Duration::from_secs(DAY));
                        // The day begins with the next unit that is paid.
                        total += 1;
                        payer.pay(total, 0, true).unwrap();
                        now(budgets.save());
                    }
                    2 | 3 => now(budgets.save()),
                    _ => {
                        total += random.u64(1..1_000);
                        payer.pay(total, 0, true).unwrap();
                    }
                }
            }
            now(budgets.save());
            all += total;
            assert_eq!(before_today + used(&budgets), all, "seed {seed}");
        }
    }
}
