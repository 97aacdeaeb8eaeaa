//! Memory: of an idle server with few and many plugins, its peak under load, and of each idle connection.

use anyhow::{Context, Result};
use tokio::time::sleep;

use super::lane::{IN_FLIGHT, connections};
use super::settle::SETTLE;
use crate::client::{Template, crowd};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Series, Unit, at_most};
use crate::server::Transport;

const SECTION: &str = "memory";

/// Idle connections.
const IDLE: usize = 1_000;

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let unit = Unit::Mebibytes;
    let mut race = Race::line_up(SECTION, &Contender::COMPARED, report, async |_| Ok(())).await;
    let [rss, pss, peak] = race.run(report, 0, 3, async |contender, ()| idle_and_peak(lab, contender).await).await;
    let target = |plugins| at_most(plugins, [25.0, 30.0, 45.0, 120.0]);
    report.row(SECTION, "idle, 1 plugin, RSS", unit, rss, target(1)).at(Series::MemoryByPlugins, 1);
    report.row(SECTION, "  PSS", unit, pss, None).detail();
    for &plugins in lab.effort.plugins.iter().filter(|&&plugins| plugins > 1) {
        if let Err(error) = lab.compile(Contender::Fuel, Set::Copies(plugins)).await {
            report.fail(&format!("{SECTION}, {plugins} plugins, compiling them"), Contender::Fuel, &error);
            continue;
        }
        let name = format!("{SECTION}, {plugins} plugins");
        let mut race = Race::line_up(name, &[Contender::Fuel], report, async |_| Ok(())).await;
        let [rss, pss] = race.run(report, 0, 3, async |contender, ()| idle_with(lab, contender, plugins).await).await;
        let what = format!("idle, {plugins} plugins, RSS");
        report.row(SECTION, &what, unit, rss, target(plugins)).at(Series::MemoryByPlugins, plugins);
        report.row(SECTION, "  PSS", unit, pss, None).detail();
    }
    report.row(SECTION, &format!("peak, {IN_FLIGHT} in flight, RSS"), unit, peak, None);
    let contenders = [Contender::Native, Contender::Fuel];
    let name = format!("{SECTION}, {IDLE} idle connections");
    let mut race = Race::line_up(name, &contenders, report, async |_| Ok(())).await;
    let [each] = race.run(report, 0, 3, async |contender, ()| each_connection(lab, contender).await).await;
    report.row(SECTION, &format!("each of {IDLE} idle connections"), Unit::Kibibytes, each, None);
}

/// Resident and proportional memory after the start, and the peak of the resident one.
async fn idle_and_peak(lab: &Lab, contender: Contender) -> Result<[f64; 3]> {
    let server = lab.start(contender, Set::Bench, Transport::Http).await?;
    sleep(SETTLE).await;
    let idle = procfs::memory(server.pid()?)?;
    let mut clients = connections(&server, IN_FLIGHT).await?;
    let echo = Template::echo(contender.tool("echo"));
    crowd(&mut clients, &echo, lab.effort.crowd).await.map_err(|error| server.explain(&error))?;
    let peak = procfs::peak(server.pid()?)?;
    server.stop().await?;
    Ok([idle.rss, idle.pss, peak])
}

async fn idle_with(lab: &Lab, contender: Contender, plugins: usize) -> Result<[f64; 2]> {
    let server = lab.start(contender, Set::Copies(plugins), Transport::Http).await?;
    sleep(SETTLE).await;
    let idle = procfs::memory(server.pid()?)?;
    server.stop().await?;
    Ok([idle.rss, idle.pss])
}

/// KiB that the server holds for each connection which is open, has been used once, and is quiet.
async fn each_connection(lab: &Lab, contender: Contender) -> Result<[f64; 1]> {
    let server = lab.start(contender, Set::Bench, Transport::Http).await?;
    let echo = Template::echo(contender.tool("echo"));
    // What only the first calls allocate is not counted.
    let mut first = connections(&server, 1).await?;
    crowd(&mut first, &echo, 100).await.map_err(|error| server.explain(&error))?;
    sleep(SETTLE).await;
    let before = procfs::memory(server.pid()?)?;
    let mut idle = connections(&server, IDLE).await?;
    for client in &mut idle {
        client.repeat(&echo, 1).await.context("a connection is not served").map_err(|error| server.explain(&error))?;
    }
    sleep(SETTLE).await;
    let with = procfs::memory(server.pid()?)?;
    server.stop().await?;
    Ok([(with.rss - before.rss) * 1024.0 / IDLE as f64])
}
