//! Runs the Rust tests. Each end-to-end test is a process of its own, and as many run at once as the machine bears: one that
//! mostly waits costs little, one that measures is alone, one that hangs is ended, and the time of each is known.

mod job;
mod order;
mod report;
mod schedule;
mod share;

use anyhow::{Result, ensure};

use crate::built::Program;
use crate::repo::Repo;
use job::Job;
use report::Report;

/// Runs those tests of these programs that `is_wanted` accepts by program, name, and whether they are long: such a test computes a
/// lot or measures. Fails when one fails.
pub(crate) fn run(repo: &Repo, programs: &[Program], is_wanted: impl Fn(&Program, &str, bool) -> bool) -> Result<()> {
    let mut jobs = Vec::new();
    for program in programs {
        jobs.extend(Job::all_of(repo, program, &is_wanted)?);
    }
    ensure!(!jobs.is_empty(), "there is no such test");
    order::sort(repo, &mut jobs);
    let report = Report::new(jobs.len());
    schedule::run(jobs, |job, ran| report.add(job, ran));
    report.finish(repo)
}
