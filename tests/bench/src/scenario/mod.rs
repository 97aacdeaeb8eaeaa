//! The measured scenarios, in the order of the table.

mod chunks;
mod code_mode;
mod compute;
mod connections;
mod echo;
mod lane;
mod languages;
mod load;
mod memory;
mod parked;
mod reverse;
mod sessions;
mod settle;
mod slow_reader;
mod start;
mod tasks;
mod user;
mod wakeups;

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::report::Report;

const NAMES: [&str; 16] = [
    "echo",
    "user",
    "load",
    "sessions",
    "languages",
    "code-mode",
    "start",
    "memory",
    "connections",
    "wakeups",
    "chunks",
    "slow-reader",
    "compute",
    "parked",
    "tasks",
    "reverse",
];

/// Runs the scenarios whose names contain one of `only`; all if there is none.
pub(crate) async fn run_all(lab: &Lab, report: &mut Report, only: &[String]) -> Result<()> {
    let known = |part: &String| NAMES.iter().any(|name| name.contains(part.as_str()));
    for part in only {
        ensure!(known(part), "there is no scenario `{part}`; there are {}", NAMES.join(", "));
    }
    for name in NAMES {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        match name {
            "echo" => echo::run(lab, report).await,
            "user" => user::run(lab, report).await,
            "load" => load::run(lab, report).await,
            "sessions" => sessions::run(lab, report).await,
            "languages" => languages::run(lab, report).await,
            "code-mode" => code_mode::run(lab, report).await,
            "start" => start::run(lab, report).await,
            "memory" => memory::run(lab, report).await,
            "connections" => connections::run(lab, report).await,
            "wakeups" => wakeups::run(lab, report).await,
            "chunks" => chunks::run(lab, report).await,
            "slow-reader" => slow_reader::run(lab, report).await,
            "compute" => compute::run(lab, report).await,
            "parked" => parked::run(lab, report).await,
            "tasks" => tasks::run(lab, report).await,
            _ => reverse::run(lab, report).await,
        }
    }
    Ok(())
}
