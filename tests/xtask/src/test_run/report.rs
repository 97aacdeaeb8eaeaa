//! What came of the tests: a line for each, those that failed, the slowest.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};

use super::job::{Job, Ran};
use super::order;
use crate::repo::Repo;

const SLOWEST: usize = 10;

pub(super) struct Report {
    all: usize,
    ended: Mutex<Vec<Ended>>,
}

struct Ended {
    name: String,
    tests: usize,
    ran: Ran,
}

impl Report {
    pub(super) fn new(all: usize) -> Self {
        Self { all, ended: Mutex::new(Vec::new()) }
    }

    /// Prints the end of a job, and what its tests printed if one failed.
    pub(super) fn add(&self, job: &Job, ran: Ran) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let at = ended.len() + 1;
        let verdict = if ran.failure.is_some() { "FAIL" } else { "ok" };
        let computed = seconds(ran.computed);
        println!("{at:>4}/{} {verdict:<4} {:>6.1} {computed:>6}  {}", self.all, ran.took.as_secs_f32(), job.name);
        if let Some(failure) = &ran.failure {
            println!("{failure}");
        }
        ended.push(Ended { name: job.name.clone(), tests: job.tests, ran });
    }

    /// Prints the slowest and the sum; fails if a test failed.
    pub(super) fn finish(self, repo: &Repo) -> Result<()> {
        let mut ended = self.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        let times = ended.iter().map(|job| (job.name.clone(), job.ran.took.as_millis() as u64));
        order::keep_times(repo, times.collect());
        ended.sort_by_key(|job| std::cmp::Reverse(job.ran.took));
        println!("\nthe slowest {:>8} {:>11}", "seconds", "processors");
        for job in ended.iter().take(SLOWEST) {
            println!("{:>20.1} {:>11}  {}", job.ran.took.as_secs_f32(), seconds(job.ran.computed), job.name);
        }
        let (bad, good): (Vec<_>, Vec<_>) = ended.iter().partition(|job| job.ran.failure.is_some());
        println!("\n{} passed, {} failed", good.iter().map(|job| job.tests).sum::<usize>(), bad.len());
        if !bad.is_empty() {
            bail!("these tests fail: {}", bad.iter().map(|job| &*job.name).collect::<Vec<_>>().join(", "));
        }
        Ok(())
    }
}

fn seconds(time: Option<Duration>) -> String {
    time.map_or_else(|| "?".to_owned(), |time| format!("{:.1}", time.as_secs_f32()))
}
