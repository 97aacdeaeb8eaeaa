//! Looks after tasks: takes up those of an earlier process once their calls can be made again, renews the leases of those
//! that run, takes up what other processes leave behind, and removes those whose time is over.

use crate::calls::parked_calls::ParkedCalls;
use crate::tasks::mailbox;
use crate::tasks::records::control::StopReason;
use crate::tasks::records::record::millis;
use crate::tasks::records::table::{Due, TaskId};
use crate::tasks::tasks::{LEASE, LONGEST_SLEEP, RENEW, TaskStore, Tasks};
use crate::upkeep::{Upkeep, look_after};
use platform::changes::ChangeNotifier;
use platform::clock::Clock;
use platform::durable::{Fence, Key, Lease};
use policy::TaskLimits;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time before the store is read again after an error.
const RETRY: Duration = Duration::from_secs(5);

/// When each regular job is due.
pub(crate) struct Agenda {
    /// When to read all stored tasks; none once that is done.
    take_up: Option<Instant>,
    /// When to renew the leases of the tasks that run here, and to look for tasks that others do not serve any more.
    renew: Instant,
    /// When to look for stored requests to the tasks that run here.
    requests: Instant,
    /// See `Tasks::take_up_left`.
    known: HashMap<Key, Fence>,
}

impl Agenda {
    pub(super) fn new(now: Instant) -> Self {
        Self { take_up: Some(now), renew: now + RENEW, requests: now, known: HashMap::new() }
    }
}

impl Tasks {
    /// Starts the upkeep, which takes up the tasks of earlier processes, unless another process serves them, and looks after
    /// all tasks from then on.
    pub fn open(
        store: TaskStore,
        limits: TaskLimits,
        clock: Arc<dyn Clock>,
        changes: ChangeNotifier,
        waiting: &ParkedCalls,
    ) -> Arc<Self> {
        let tasks = Self::new(store, limits, clock.clone(), changes, waiting.wait_permits().clone());
        tokio::spawn(look_after(Arc::downgrade(&tasks), Agenda::new(clock.now())));
        tasks
    }
}

impl Upkeep for Tasks {
    type Agenda = Agenda;

    fn wake(&self) -> &Arc<Notify> {
        &self.wake
    }

    async fn do_what_is_due(self: &Arc<Self>, agenda: &mut Agenda) -> Option<Duration> {
        let can_resume = self.maker.get().is_some();
        if can_resume && agenda.take_up.is_some_and(|at| at <= self.clock.now()) {
            agenda.take_up = match self.take_up().await {
                Ok(()) => None,
                // The operator was already told that nothing can be stored.
                Err(_) if !self.are_durable() => None,
                Err(error) => {
                    tracing::error!(%error, "stored tasks cannot be read; trying again");
                    Some(self.clock.now() + RETRY)
                }
            };
        }
        // Without a folder for the store, no other process uses it.
        let looks = can_resume && self.are_durable();
        if agenda.renew <= self.clock.now() {
            // Leases are renewed first, so that this process does not take up its own tasks, unless it has lost them.
            self.renew_leases().await;
            if looks && let Err(error) = self.take_up_left(&mut agenda.known).await {
                tracing::error!(%error, "what other processes have left behind cannot be read; trying again");
            }
            agenda.renew = self.clock.now() + RENEW;
        }
        self.sweep();
        let has_open = self.open_count() != (0, 0);
        if has_open && agenda.requests <= self.clock.now() {
            if let Err(error) = self.take_requests().await {
                tracing::error!(%error, "what is asked of tasks cannot be read; trying again");
            }
            agenda.requests = self.clock.now() + mailbox::LOOK;
        }
        let renew = (has_open || looks).then_some(agenda.renew);
        let requests = has_open.then_some(agenda.requests);
        let next = agenda.take_up.filter(|_| can_resume).into_iter().chain(renew).chain(requests).min();
        let wait = next.map(|at| at.saturating_duration_since(self.clock.now()));
        wait.into_iter().chain(self.next_sweep()).min()
    }
}

impl Tasks {
    /// How long to sleep until the next task is due; none if there is no task.
    fn next_sweep(&self) -> Option<Duration> {
        let next = self.table.lock().next_due()?;
        Some(Duration::from_millis(next.saturating_sub(self.now())).min(LONGEST_SLEEP))
    }

    /// Removes the tasks whose time is over, and goes on with suspended tasks whose time has come. A task whose time is over
    /// while it runs is ended instead, and kept until its client has seen that.
    pub(super) fn sweep(self: &Arc<Self>) {
        let now = self.now();
        loop {
            let Some(due) = self.table.lock().due(now) else { return };
            let (Due::GoOn(id) | Due::Remove(id)) = &due;
            let running = self.running.lock().get(id).cloned();
            match (running, due) {
                (Some(running), Due::GoOn(id) | Due::Remove(id)) => {
                    running.stop(StopReason::Expired);
                    self.table.lock().set_expiry(&id, now + millis(self.limits.keep).max(1_000));
                }
                (None, Due::GoOn(id)) => self.go_on_when_due(id),
                (None, Due::Remove(id)) => self.remove(id),
            }
        }
    }

    /// Removes a task that has ended, and its unread messages.
    pub(super) fn remove(self: &Arc<Self>, id: TaskId) {
        self.remove_stored(&id, None);
        let tasks = self.clone();
        self.runners.spawn(async move {
            if let Err(error) = tasks.forget_messages(&id).await {
                tracing::error!(%error, "what nobody has read stays in the store");
            }
        });
    }

    /// Renews the leases of the tasks that run here.
    async fn renew_leases(&self) {
        let leases: Vec<Lease> = {
            let running = self.running.lock();
            let held = running.values().filter(|running| !running.is_free.load(Ordering::Relaxed));
            held.map(|running| running.lease.clone()).collect()
        };
        if leases.is_empty() {
            return;
        }
        let lost = match self.store.renew(leases, LEASE).await {
            Ok(lost) => lost,
            Err(error) => return tracing::error!(%error, "the leases of tasks cannot be renewed"),
        };
        if lost.is_empty() {
            return;
        }
        // A task that has been served again meanwhile has another lease.
        let running = self.running.lock();
        for (id, running) in running.iter().filter(|(_, running)| lost.contains(&running.lease)) {
            tracing::error!(task = &**id, "another process has taken a task over; its call ends here");
            running.stop(StopReason::Superseded);
        }
    }
}
