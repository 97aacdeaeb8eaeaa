//! Random programs of what imports do with a journal: whatever a program does, and wherever its process is killed, it goes on
//! as if it had not been killed.

use super::checkpoint::Checkpoint;
use super::entry::{decode, encode};
use super::{CallJournal, JournalLog, Repeat};
use fastrand::Rng;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use platform::clock::ManualClock;
use platform::clock::SystemClock;
use platform::durable::{Durability, DurableStore, Fence, Key, MemoryStore};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The outside world, which outlives the processes of the call.
#[derive(Default)]
struct World {
    rng: Rng,
    mail: VecDeque<u64>,
    /// What was seen of each step, and how often the step was done.
    seen: BTreeMap<String, (u64, u32)>,
    /// Records that were stored when something was seen for the last time.
    stored: usize,
    /// Steps until the process ends.
    left: u32,
    found: u32,
    saved: u32,
}

/// One process of a call. What its guest does depends on all answers that it got.
#[derive(Clone)]
struct Process {
    world: Rc<RefCell<World>>,
    store: Arc<MemoryStore>,
    key: Key,
    clock: Arc<ManualClock>,
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
            let mut done = 0;
            if !nested && let Some(Checkpoint { state: saved, used: () }) = journal.restored().await {
                (state, done) = decode(&saved).unwrap();
            }
            while done < steps {
                self.passes().await;
                done += 1;
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
                                step.before_effect(Repeat::Safe).await;
                                let told = self.run(journal.of_nested(&step), state, 6, true).await;
                                step.ended(&told).await;
                                told
                            }
                        }
                    }
                    7 if !nested && state % 16 == 7 => {
                        // The process may end before this, or after it and before anything else.
                        let saved = encode(&(mix(state, 4), done));
                        journal.save(Checkpoint { state: saved, used: () }).await;
                        self.world.borrow_mut().saved += 1;
                        4
                    }
                    _ => {
                        let step = journal.begin("pay", &state);
                        let name = step.name().unwrap();
                        let paid = async {
                            self.show(name, state).await;
                            self.passes().await;
                            3u64
                        };
                        step.act(Repeat::Safe, paid).await
                    }
                };
                state = mix(state, told);
            }
            state
        };
        Box::pin(run)
    }

    /// The next process. It has what was stored; some of that may be lost if nothing has come of it yet.
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
            store.append(&key, Fence(number), 0, records.clone(), Durability::Process).await.unwrap();
        }
        let (durability, at) = (Durability::Process, records.len() as u64);
        let log = JournalLog {
            store,
            key,
            fence: Fence(number),
            durability,
            next: at,
            room: Arc::new(|_| true),
            before_checkpoint: None,
        };
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

/// What was seen of a step is the same in every run, and no run takes its own journal for that of another call.
#[tokio::test]
async fn a_call_that_is_killed_anywhere_goes_on_as_if_it_had_not_been() {
    run_programs(0..400).await;
}

/// For `cargo xtask crash --programs`.
#[ignore = "takes minutes"]
#[tokio::test]
async fn a_hundred_thousand_calls_go_on() {
    run_programs(0..100_000).await;
}

async fn run_programs(programs: Range<u64>) {
    let (mut kills, mut found, mut shown, mut saved) = (0, 0, 0, 0);
    let few = programs.end / 2;
    for seed in programs {
        let world = Rc::new(RefCell::new(World { rng: Rng::with_seed(seed), ..World::default() }));
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let clock = ManualClock::new();
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
        saved += u64::from(world.saved);
    }
    assert!([kills, found, shown, saved].iter().all(|count| *count > few), "too few to say anything");
}
