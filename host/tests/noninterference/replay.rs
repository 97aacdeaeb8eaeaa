//! Replay: a call that is stopped between two steps and goes on in another instance sees the same as one that is not, and
//! does the same to others: nothing is lost, and nothing is done twice.

use super::program::{Op, call};
use super::run::Host;
use super::world::World;
use async_trait::async_trait;
use fastrand::Rng;
use platform::sync::Mutex;
use policy::{Principal, StateGrant};
use runtime::imports::{ExpectedVersion, StateEntry, StateError, StateOwner, StateStore};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Programs without the variable `PORTCULLIS_REPLAYS`.
const PROGRAMS: u64 = 1_000;
/// Instances of one call.
const MOST_STOPS: usize = 3;

#[test]
fn a_call_that_goes_on_in_other_instances_comes_to_the_same() {
    let programs = std::env::var("PORTCULLIS_REPLAYS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let principal = Principal::from_source("key", "ann");
    let (mut stopped, mut received) = (0, 0);
    for number in 0..programs {
        let (mut steps, mut rng) = (call(number), Rng::with_seed(number));
        // The programs authorize their requests themselves and send none; guests do, in `tests/suite/tests/taken_up.rs`.
        // Large resources are left out because they take long.
        steps.retain(|step| !matches!(step.op, Op::Http | Op::PutLargeResource(_)));
        let mut stops: Vec<usize> = (0..rng.usize(1..=MOST_STOPS)).map(|_| rng.usize(0..=steps.len())).collect();
        stops.sort_unstable();
        let run = |stops: &[usize]| {
            let (world, state) = (World::new(true), Arc::new(Values::default()));
            let host = Host::new(state.clone(), "");
            let seen = runtime.block_on(host.run_in_instances(&steps, stops, &principal, &world));
            (seen, world.received(), state.0.lock().values.clone())
        };
        let whole = run(&[]);
        assert_eq!(run(&stops), whole, "program {number}, stopped after {stops:?} steps: {steps:#?}");
        stopped += stops.len();
        received += whole.1.values().map(Vec::len).sum::<usize>();
    }
    println!("hostile: replayed: {programs}, stopped {stopped} times, {received} messages to others");
    assert!(received as u64 > programs / 2, "the programs reach nobody");
}

/// Values of one call, whose versions are the same in each run.
#[derive(Default)]
struct Values(Mutex<ValueState>);

#[derive(Default)]
struct ValueState {
    values: BTreeMap<String, StateEntry>,
    last: u64,
}

#[async_trait]
impl StateStore for Values {
    async fn get(&self, _: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError> {
        Ok(self.0.lock().values.get(key).cloned())
    }

    async fn put(
        &self,
        _: &StateOwner,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
        _: StateGrant,
    ) -> Result<u64, StateError> {
        let mut state = self.0.lock();
        let found = state.values.get(&key).map(|entry| entry.version);
        if let ExpectedVersion::Is(version) = expected
            && version != found
        {
            return Err(StateError::Conflict);
        }
        state.last += 1;
        let version = state.last;
        state.values.insert(key, StateEntry { value, version });
        Ok(version)
    }

    async fn remove(&self, _: &StateOwner, key: String, _: StateGrant) -> Result<bool, StateError> {
        Ok(self.0.lock().values.remove(&key).is_some())
    }

    fn session_id(&self, _: &StateOwner) -> Option<u128> {
        None
    }

    async fn keys(&self, _: &StateOwner, _: String, after: String, most: u32) -> Result<Vec<String>, StateError> {
        let state = self.0.lock();
        let keys = state.values.keys().filter(|key| **key > after);
        Ok(keys.take(most as usize).cloned().collect())
    }
}
