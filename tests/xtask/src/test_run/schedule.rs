//! Runs jobs beside each other, as many as the machine bears.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

use super::job::{Job, Ran};
use super::share::Share;

/// Runs all jobs, those of each kind in their order, and tells of each end.
pub(super) fn run(jobs: Vec<Job>, ended: impl Fn(&Job, Ran) + Sync) {
    let (alone, beside): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.share == Share::Alone);
    let (computing, ordinary): (VecDeque<_>, VecDeque<_>) =
        beside.into_iter().partition(|job| job.share == Share::Computes);
    let (computing, ordinary) = (Mutex::new(computing), Mutex::new(ordinary));
    let run = &|mut job: Job| {
        let ran = job.run();
        ended(&job, ran);
    };
    let processors = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| while_some(|| next(&computing).or_else(|| next(&ordinary)), run));
            // Ordinary tests mostly wait, so there are two of them for each processor.
            scope.spawn(|| while_some(|| next(&ordinary).or_else(|| next(&computing)), run));
            scope.spawn(|| while_some(|| next(&ordinary), run));
        }
    });
    alone.into_iter().for_each(run);
}

fn next(jobs: &Mutex<VecDeque<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn while_some(next: impl Fn() -> Option<Job>, run: impl Fn(Job)) {
    while let Some(job) = next() {
        run(job);
    }
}
