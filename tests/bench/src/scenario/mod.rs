//! The measured scenarios, in the order of the table.

mod chunks;
mod compute;
mod echo;
mod memory;
mod parked;
mod reverse;
mod start;

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::report::Report;

/// Runs the scenarios whose name contains `only`.
pub(crate) async fn run_all(lab: &Lab, report: &mut Report, only: &str) -> Result<()> {
    let wanted = |name: &str| name.contains(only);
    let mut any = false;
    if wanted("echo") {
        echo::run(lab, report).await;
        any = true;
    }
    if wanted("start") {
        start::run(lab, report).await;
        any = true;
    }
    if wanted("memory") {
        memory::run(lab, report).await;
        any = true;
    }
    if wanted("chunks") {
        chunks::run(lab, report).await;
        any = true;
    }
    if wanted("compute") {
        compute::run(lab, report).await;
        any = true;
    }
    if wanted("parked") {
        parked::run(lab, report).await;
        any = true;
    }
    if wanted("reverse") {
        reverse::run(lab, report).await;
        any = true;
    }
    ensure!(any, "there is no scenario `{only}`; there are echo, start, memory, chunks, compute, parked and reverse");
    Ok(())
}
