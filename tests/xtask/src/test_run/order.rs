//! In which order the tests begin.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::job::Job;
use super::share::place;
use crate::repo::Repo;

/// Puts the longest first, by what they took the last time, so that none is left over at the end.
pub(super) fn sort(repo: &Repo, jobs: &mut [Job]) {
    let times = times(repo);
    jobs.sort_by_cached_key(|job| {
        let took = times.get(&job.name).copied();
        // In a first run, programs with many tests come first.
        (took.is_some(), Reverse(took), Reverse(job.tests), place(&job.name))
    });
}

/// Keeps what tests took, in milliseconds, for the next run.
pub(super) fn keep_times(repo: &Repo, new: BTreeMap<String, u64>) {
    let mut times = times(repo);
    times.extend(new);
    // Without it, the next run has another order.
    let _ = serde_json::to_string(&times).map(|text| fs::write(file(repo), text));
}

fn times(repo: &Repo) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(file(repo)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn file(repo: &Repo) -> PathBuf {
    repo.target.join("test-times.json")
}
