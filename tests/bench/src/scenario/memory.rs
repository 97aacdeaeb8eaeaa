//! Resident memory: of an idle server, and the peak after many concurrent requests.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::echo::{IN_FLIGHT, connections};
use crate::client::{Template, crowd};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::{MANY, Set};
use crate::procfs;
use crate::report::{Report, Target, Unit};
use crate::server::Transport;

const SECTION: &str = "resident memory";

/// Long enough for a server that still works after it starts to listen.
const SETTLE: Duration = Duration::from_millis(500);

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let mut race = Race::line_up(SECTION, &Contender::ALL, report, async |_| Ok(())).await;
    let [idle, peak] = race.run(report, 0, 3, async |contender, ()| idle_and_peak(lab, contender).await).await;
    let name = format!("{SECTION}, {MANY} plugins");
    let mut race = Race::line_up(name, &[Contender::Fuel], report, async |_| Ok(())).await;
    let [many] = race.run(report, 0, 3, async |contender, ()| idle_with_many(lab, contender).await).await;
    let unit = Unit::Mebibytes;
    report.row(SECTION, "idle, 1 plugin", unit, idle, Some(Target::AtMost(40.0)));
    report.row(SECTION, &format!("idle, {MANY} plugins"), unit, many, None);
    report.row(SECTION, &format!("peak, {IN_FLIGHT} in flight"), unit, peak, None);
}

async fn idle_and_peak(lab: &Lab, contender: Contender) -> Result<[f64; 2]> {
    let server = lab.start(contender, Set::Bench, Transport::Http).await?;
    sleep(SETTLE).await;
    let [idle, _] = procfs::memory(server.pid()?)?;
    let mut clients = connections(&server).await?;
    let echo = Template::echo(contender.tool("echo"));
    crowd(&mut clients, &echo, lab.effort.crowd).await.map_err(|error| server.explain(&error))?;
    let [_, peak] = procfs::memory(server.pid()?)?;
    server.stop().await?;
    Ok([idle, peak])
}

async fn idle_with_many(lab: &Lab, contender: Contender) -> Result<[f64; 1]> {
    let server = lab.start(contender, Set::Copies(MANY), Transport::Http).await?;
    sleep(SETTLE).await;
    let [idle, _] = procfs::memory(server.pid()?)?;
    server.stop().await?;
    Ok([idle])
}
