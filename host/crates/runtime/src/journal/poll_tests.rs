//! Steps that find nothing: they cost few records, and a call that is killed anywhere goes on as if it had not been.

use super::entry::Entry;
use super::{Again, CallJournal, JournalLog, JournalProblem};
use fastrand::Rng;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use platform::clock::{Clock, SystemClock};
use platform::durable::{DurableStore, Fence, Key, MemoryStore, Strength};
use platform::sync::Mutex;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct TestClock(Instant, Mutex<Duration>);

impl TestClock {
    fn new() -> Arc<Self> {
        Arc::new(Self(SystemClock.now(), Mutex::default()))
    }

    fn pass(&self, time: Duration) {
        *self.1.lock() += time;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        self.0 + *self.1.lock()
    }
}

fn poll(journal: &CallJournal, found: Option<u64>) -> Option<u64> {
    journal.begin("look", &()).or_nothing(&None::<u64>).see(|| found)
}

fn steps(records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| Entry::decode(record).unwrap().path.to_string()).collect()
}

fn again(clock: &Arc<TestClock>, journal: &CallJournal) -> CallJournal {
    CallJournal::resumed(clock.clone(), journal.export().unwrap(), Duration::ZERO).unwrap()
}

#[test]
fn finding_nothing_is_recorded_once_a_second() {
    let clock = TestClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    for _ in 0..1_000 {
        poll(&journal, None);
        clock.pass(Duration::from_millis(5));
    }
    assert_eq!(journal.export().unwrap().len(), 4, "{:?}", steps(&journal.export().unwrap()));
    // A long wait is not made twice.
    let before = journal.export().unwrap().len();
    let wait = journal.begin("wait", &()).or_nothing(&());
    clock.pass(Duration::from_secs(1));
    wait.see(|| ());
    assert_eq!(journal.export().unwrap().len(), before + 1);
}

#[test]
fn it_is_remarked_how_long_steps_took_and_what_they_are_about() {
    let clock = TestClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    let wait = |millis| {
        let step = journal.begin("wait", &()).or_nothing(&());
        clock.pass(Duration::from_millis(millis));
        step.see(|| ());
    };
    for millis in [300, 400, 500] {
        wait(millis);
    }
    wait(200);
    let step = journal.begin("ask", &());
    clock.pass(Duration::from_millis(70));
    step.see(|| 1u8);
    let step = journal.begin("call", &()).with(|| "ä".repeat(100));
    step.act(Again::Safe, async { 2u8 }).now_or_never().unwrap();
    journal.begin("look", &()).see(|| 3u8);
    let remarks: Vec<_> =
        journal.export().unwrap().iter().map(|record| Entry::decode(record).unwrap().remark).collect();
    let told: Vec<_> = remarks.iter().map(|it| (it.name.as_deref().map(str::len), it.took, it.polled)).collect();
    let expected = [(None, 500, 700), (None, 70, 200), (Some(128), 0, 0), (None, 0, 0), (None, 0, 0)];
    assert_eq!(told, expected, "what was not recorded is told with the next record");
}

#[test]
fn what_was_told_stays_told_and_what_came_of_nothing_is_asked_again() {
    let clock = TestClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    let answers = [None, None, Some(3), None, None];
    for answer in answers {
        assert_eq!(poll(&journal, answer), answer);
    }
    assert_eq!(steps(&journal.export().unwrap()), ["3"]);
    let replayed = again(&clock, &journal);
    for (at, answer) in answers.into_iter().enumerate() {
        // Nothing came of the last two.
        let told = if at < 3 { answer } else { Some(9) };
        assert_eq!((poll(&replayed, Some(9)), replayed.is_replaying()), (told, at < 3), "{at}");
    }
    assert_eq!(replayed.problem(), None);
}

#[test]
fn what_leaves_the_call_is_recorded_behind_what_it_depends_on() {
    let clock = TestClock::new();
    let journal = CallJournal::in_memory(clock.clone());
    for _ in 0..3 {
        poll(&journal, None);
    }
    let asked = journal.begin("ask", &()).ask(futures::future::pending::<u8>());
    assert!(asked.now_or_never().is_none(), "somebody sees the question now");
    assert_eq!(steps(&journal.export().unwrap()), ["3"]);
    let replayed = again(&clock, &journal);
    for _ in 0..3 {
        assert_eq!(poll(&replayed, Some(9)), None);
    }
    // What is told at once needs no record but its own; a nested call has its own steps.
    let journal = CallJournal::in_memory(clock.clone());
    poll(&journal, None);
    journal.begin("see", &()).see(|| 1u8);
    poll(&journal, None);
    let call = journal.begin("call", &());
    let nested = journal.of_nested(&call);
    poll(&nested, None);
    nested.begin("see", &()).see(|| 1u8);
    assert_eq!(steps(&journal.export().unwrap()), ["2", "4.2"]);
    let replayed = again(&clock, &journal);
    assert_eq!((poll(&replayed, Some(9)), replayed.begin("see", &()).see(|| 2u8)), (None, 1));
    assert_eq!(poll(&replayed, Some(9)), None, "a step below a later one is recorded");
    let nested = replayed.of_nested(&replayed.begin("call", &()));
    assert!(nested.is_replaying());
    assert_eq!((poll(&nested, Some(9)), nested.is_replaying()), (None, true));
}

#[test]
fn another_step_in_the_place_of_one_that_found_nothing_ends_the_call() {
    let clock = TestClock::new();
    for effect in [false, true] {
        let journal = CallJournal::in_memory(clock.clone());
        poll(&journal, None);
        journal.begin("see", &()).see(|| 1u8);
        let replayed = again(&clock, &journal);
        let step = replayed.begin("pay", &());
        match effect {
            true => assert_eq!(step.act(Again::Safe, async { panic!("it pays") }).now_or_never(), None::<()>),
            false => assert!(step.has_to_end()),
        }
        assert!(matches!(replayed.problem(), Some(JournalProblem::Diverged { .. })), "{:?}", replayed.problem());
    }
}

/// Calls of the property test.
const SEEDS: u64 = 400;

/// The outside world, which outlives the processes of the call.
#[derive(Default)]
struct World {
    rng: Rng,
    mail: VecDeque<u64>,
    /// What was seen of each step, and how often it was done.
    seen: BTreeMap<String, (u64, u32)>,
    /// Records that were stored when something was seen for the last time.
    stored: usize,
    /// Steps until the process ends.
    left: u32,
    found: u32,
}

/// One process of a call, whose guest does what depends on all that it was told.
#[derive(Clone)]
struct Process {
    world: Rc<RefCell<World>>,
    store: Arc<MemoryStore>,
    key: Key,
    clock: Arc<TestClock>,
}

impl Process {
    /// The process may end here.
    async fn passes(&self) {
        let ends = {
            let mut world = self.world.borrow_mut();
            let late = Duration::from_millis(world.rng.u64(0..400));
            self.clock.pass(late);
            if world.rng.u8(..) < 60 {
                let message = world.rng.u64(..);
                world.mail.push_back(message);
            }
            world.left = world.left.saturating_sub(1);
            world.left == 0
        };
        if ends {
            futures::future::pending::<()>().await;
        }
    }

    async fn records(&self) -> Vec<Vec<u8>> {
        JournalLog::read(&*self.store, &self.key).await.unwrap().entries
    }

    /// Somebody outside sees what the call does at a step.
    async fn show(&self, step: String, what: u64) {
        let stored = self.records().await.len();
        let mut world = self.world.borrow_mut();
        world.stored = stored;
        let seen = world.seen.entry(step).or_insert((what, 0));
        seen.1 += 1;
        assert_eq!(seen.0, what, "another thing was seen of the step before");
    }

    fn run(&self, journal: CallJournal, mut state: u64, steps: u32, nested: bool) -> LocalBoxFuture<'_, u64> {
        let mix = |state: u64, told: u64| (state ^ told).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let run = async move {
            for _ in 0..steps {
                self.passes().await;
                let told = match state % 8 {
                    0..3 => {
                        let look = || self.world.borrow_mut().mail.pop_front();
                        let found = journal.begin("look", &()).or_nothing(&None::<u64>).see(look);
                        self.world.borrow_mut().found += u32::from(found.is_some());
                        found.unwrap_or(1)
                    }
                    3 => {
                        let wait = async {
                            self.passes().await;
                            Ok::<_, ()>(())
                        };
                        journal.begin("wait", &()).or_nothing(&()).try_ask(wait).await.map_or(0, |()| 2)
                    }
                    4 => journal.begin("see", &state).see(|| self.world.borrow_mut().rng.u64(..)),
                    5 => {
                        let step = journal.begin("ask", &state);
                        let name = step.name().unwrap();
                        let asked = async {
                            self.show(name, state).await;
                            self.passes().await;
                            self.world.borrow_mut().rng.u64(..)
                        };
                        step.ask(asked).await
                    }
                    6 if !nested => {
                        let mut step = journal.begin("call", &state);
                        match step.recorded().await {
                            Some(told) => told,
                            None => {
                                step.before_effect(Again::Safe).await;
                                let told = self.run(journal.of_nested(&step), state, 6, true).await;
                                step.ended(&told).await;
                                told
                            }
                        }
                    }
                    _ => {
                        let step = journal.begin("pay", &state);
                        let name = step.name().unwrap();
                        let paid = async {
                            self.show(name, state).await;
                            self.passes().await;
                            3u64
                        };
                        step.act(Again::Safe, paid).await
                    }
                };
                state = mix(state, told);
            }
            state
        };
        Box::pin(run)
    }

    /// The next process, which has what was stored; of what nothing came yet, some may be lost.
    async fn next(self, number: u64) -> (Self, CallJournal) {
        let mut records = self.records().await;
        let (lost, left) = {
            let mut world = self.world.borrow_mut();
            let kept = world.stored.min(records.len());
            (world.rng.usize(kept..=records.len()), world.rng.u32(1..60))
        };
        records.truncate(lost);
        self.world.borrow_mut().left = left;
        let next = Self { store: Arc::new(MemoryStore::new(self.clock.clone())), ..self };
        let (store, key, clock) = (next.store.clone(), next.key.clone(), next.clock.clone());
        if !records.is_empty() {
            store.append(&key, Fence(number), 0, records.clone(), Strength::Process).await.unwrap();
        }
        let (strength, at) = (Strength::Process, records.len() as u64);
        let log = JournalLog { store, key, fence: Fence(number), strength, next: at, room: Arc::new(|_| true) };
        let journal = if records.is_empty() {
            let journal = CallJournal::in_memory(clock);
            assert!(journal.store_in(log).await.unwrap());
            journal
        } else {
            CallJournal::stored(clock, log, records, Duration::ZERO).unwrap()
        };
        (next, journal)
    }
}

/// Whatever has been seen of a step is seen of it in every run, and no run finds that its journal is another call's.
#[tokio::test]
async fn a_call_that_is_killed_anywhere_goes_on_as_if_it_had_not_been() {
    let (mut kills, mut found, mut shown) = (0, 0, 0);
    for seed in 0..SEEDS {
        let world = Rc::new(RefCell::new(World { rng: Rng::with_seed(seed), ..World::default() }));
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let clock = TestClock::new();
        let mut process = Process { world: world.clone(), store, key: Key::new("journal/c").unwrap(), clock };
        for number in 1.. {
            let (next, journal) = process.next(number).await;
            process = next;
            let ended = process.run(journal.clone(), seed, 30, false).now_or_never();
            assert_eq!(journal.problem(), None, "seed {seed}, process {number}");
            if ended.is_some() {
                break;
            }
            kills += 1;
        }
        let world = world.borrow();
        found += u64::from(world.found);
        shown += world.seen.len() as u64;
    }
    assert!(kills > SEEDS && found > SEEDS && shown > SEEDS, "{kills} kills, {found} found, {shown} seen");
}
