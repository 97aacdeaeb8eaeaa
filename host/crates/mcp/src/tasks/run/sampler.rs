//! Measures the fuel that the call of a task has used and the memory that it holds, while it runs, and stores both.

use crate::tasks::records::keys::Part;
use crate::tasks::records::samples::{Sample, Samples};
use crate::tasks::records::table::TaskId;
use crate::tasks::tasks::Tasks;
use platform::durable::{Durability, DurableError, Expected, Key};
use platform::sync::Mutex;
use runtime::engine::{FuelAccount, HeldResources};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Time between two measurements of a call that is active.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two writes of the samples. Bounds the disk writes of a call that computes.
const WRITE_PAUSE: Duration = Duration::from_secs(5);

/// The samples of a task, to which this run of its call adds.
pub(in crate::tasks) struct Sampler {
    tasks: Arc<Tasks>,
    id: TaskId,
    fuel: Option<FuelAccount>,
    held: HeldResources,
    state: Mutex<State>,
}

struct State {
    samples: Samples,
    /// The expected state of the stored samples; none until that is known.
    stored: Option<Expected>,
    /// Whether something is not stored yet.
    is_new: bool,
    /// The earliest time of the next write.
    next_write: Instant,
}

impl Sampler {
    pub(in crate::tasks) fn new(tasks: Arc<Tasks>, id: TaskId, fuel: Option<FuelAccount>, held: HeldResources) -> Self {
        // Delays the first write, so that a call which ends at once is written only once.
        let next_write = tasks.clock.now() + LOOK;
        let state = State { samples: Samples::default(), stored: None, is_new: false, next_write };
        Self { tasks, id, fuel, held, state: Mutex::new(state) }
    }

    /// Never returns. It must be polled together with the call: after a measurement that has found nothing new it sets no timer
    /// and goes on when it is polled again, so a call that waits costs nothing.
    pub(in crate::tasks) async fn run(&self) {
        loop {
            let is_new = self.look();
            if self.is_due()
                && let Err(error) = self.store().await
            {
                tracing::warn!(task = &*self.id, %error, "what a task uses cannot be stored");
                if matches!(error, DurableError::Conflict(_)) {
                    // Another process serves the task.
                    return pending().await;
                }
            }
            if !is_new && !self.state.lock().is_new {
                next_poll().await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Stores new samples when this run of the call is over. If that fails, they are lost, and the task goes on.
    pub(in crate::tasks) async fn keep(&self) {
        self.note(0);
        if self.state.lock().is_new
            && let Err(error) = self.store().await
        {
            tracing::warn!(task = &*self.id, %error, "what a task has used cannot be stored");
        }
    }

    /// Takes a sample. False if nothing has changed.
    fn look(&self) -> bool {
        self.note(self.held.now().bytes)
    }

    fn note(&self, memory: u64) -> bool {
        let fuel = self.fuel.as_ref().map_or(0, FuelAccount::used);
        let sample = Sample { at: self.tasks.now(), fuel, memory };
        let mut state = self.state.lock();
        let is_new = state.samples.add(sample);
        state.is_new |= is_new;
        is_new
    }

    fn is_due(&self) -> bool {
        let state = self.state.lock();
        state.is_new && self.tasks.clock.now() >= state.next_write
    }

    async fn store(&self) -> Result<(), DurableError> {
        let Some(key) = Part::Samples.key(&self.id) else { return Ok(()) };
        let known = self.state.lock().stored;
        let expected = match known {
            Some(expected) => expected,
            None => self.load(&key).await?,
        };
        let bytes = {
            let mut state = self.state.lock();
            // Holds until it is known whether this write succeeds.
            (state.stored, state.is_new, state.next_write) =
                (Some(Expected::Any), false, self.tasks.clock.now() + WRITE_PAUSE);
            state.samples.to_bytes()
        };
        if !self.tasks.table.lock().set_part(&self.id, Part::Samples, bytes.len() as u64, &self.tasks.limits) {
            self.state.lock().stored = Some(expected);
            return Ok(());
        }
        let stored = self.tasks.store.put(&key, bytes, expected, Durability::Process).await;
        let mut state = self.state.lock();
        state.stored = Some(stored.as_ref().map_or(expected, |revision| Expected::At(*revision)));
        state.is_new |= stored.is_err();
        stored.map(drop)
    }

    /// Puts the samples of earlier runs before those of this run.
    async fn load(&self, key: &Key) -> Result<Expected, DurableError> {
        let Some(record) = self.tasks.store.get(key).await? else { return Ok(Expected::Nothing) };
        if let Some(mut earlier) = Samples::from_bytes(&record.value) {
            let mut state = self.state.lock();
            let seen = std::mem::take(&mut state.samples);
            for sample in seen.into_vec() {
                earlier.add(sample);
            }
            state.samples = earlier;
        }
        Ok(Expected::At(record.revision))
    }
}

/// Returns when it is polled for the second time, whatever the reason. It registers no waker.
async fn next_poll() {
    let mut was_polled = false;
    poll_fn(|_| if std::mem::replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::wait_permits::WaitPermits;
    use crate::tasks::records::table::NewEntry;
    use crate::tasks::tasks::TaskStore;
    use platform::changes::ChangeNotifier;
    use platform::clock::SystemClock;
    use platform::durable::{DurableStore, MemoryStore};
    use policy::{ParkedCallLimits, Principal, TaskLimits};

    /// The tasks of a process over the store, with one.
    fn process(store: &Arc<dyn DurableStore>, size: u64) -> (Arc<Tasks>, TaskId) {
        let limits = TaskLimits { size: bytesize::ByteSize(size), ..TaskLimits::default() };
        let permits = Arc::new(WaitPermits::new(ParkedCallLimits::default()));
        let store = TaskStore { store: store.clone(), process: None };
        let tasks = Tasks::new(store, limits, Arc::new(SystemClock), ChangeNotifier::new(), permits);
        let (id, owner): (TaskId, _) = ("id".into(), Principal::from_source("key", "alice"));
        tasks.table.lock().insert_stored(NewEntry { id: &id, owner, call: "c", bytes: 0, expires: u64::MAX });
        (tasks, id)
    }

    fn sampler((tasks, id): &(Arc<Tasks>, TaskId)) -> Sampler {
        Sampler::new(tasks.clone(), id.clone(), None, HeldResources::default())
    }

    async fn stored(store: &Arc<dyn DurableStore>) -> Vec<u64> {
        let record = store.get(&Part::Samples.key("id").unwrap()).await.unwrap();
        let samples = record.map(|record| Samples::from_bytes(&record.value).unwrap().into_vec());
        samples.unwrap_or_default().into_iter().map(|sample| sample.memory).collect()
    }

    #[tokio::test]
    async fn each_run_adds_to_what_is_stored_and_one_that_was_taken_over_does_not() {
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let (one, other) = (process(&store, 1 << 30), process(&store, 1 << 30));
        let (first, second) = (sampler(&one), sampler(&other));
        first.note(5);
        first.store().await.unwrap();
        second.note(7);
        second.note(9);
        second.store().await.unwrap();
        assert_eq!(stored(&store).await, [5, 9], "what was seen last, and what was seen first");
        first.note(6);
        assert!(matches!(first.store().await, Err(DurableError::Conflict(_))));
        second.keep().await;
        assert_eq!(stored(&store).await, [5, 0], "the run is over");
    }

    #[tokio::test]
    async fn without_room_nothing_is_stored_and_nothing_fails() {
        let store: Arc<dyn DurableStore> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let process = process(&store, 10);
        let sampler = sampler(&process);
        sampler.note(5);
        sampler.store().await.unwrap();
        sampler.keep().await;
        assert!(stored(&store).await.is_empty());
    }
}
