//! Runs jobs beside each other, as many as fit.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::job::{Job, Ran};

/// The jobs that have not begun, and what is left for them.
struct Waiting {
    jobs: VecDeque<Job>,
    free: usize,
}

/// Runs all jobs in their order, but a later one that fits before an earlier one that does not; tells of each end.
pub(super) fn run(jobs: Vec<Job>, capacity: usize, ended: impl Fn(&Job, Ran) + Sync) {
    let waiting = Mutex::new(Waiting { jobs: jobs.into(), free: capacity });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..capacity {
            scope.spawn(|| {
                while let Some(mut job) = next(&waiting, &changed) {
                    let ran = job.run();
                    ended(&job, ran);
                    lock(&waiting).free += job.share.cost();
                    changed.notify_all();
                }
            });
        }
    });
}

/// Waits until a job fits; none if all have begun.
fn next(waiting: &Mutex<Waiting>, changed: &Condvar) -> Option<Job> {
    let mut waiting = lock(waiting);
    loop {
        if waiting.jobs.is_empty() {
            return None;
        }
        let free = waiting.free;
        if let Some(at) = waiting.jobs.iter().position(|job| job.share.cost() <= free) {
            let job = waiting.jobs.remove(at)?;
            waiting.free -= job.share.cost();
            return Some(job);
        }
        waiting = changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
