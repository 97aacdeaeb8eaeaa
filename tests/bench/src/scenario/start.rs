//! From the start of the process to the first answer of `tools/list`, over stdio.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::client::{Template, Tool};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::{MANY, Set, copy_name};
use crate::report::{Figures, Report, Target, Unit};
use crate::server::{Server, Transport};

const SECTION: &str = "start to first tools/list";

#[derive(Deserialize)]
struct Listing {
    tools: Vec<Tool>,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let rounds = lab.effort.rounds;
    // Cold first: it does not use the run's cache.
    let cold_one = race(lab, report, 1, true, rounds.min(3)).await;
    let cold_many = race(lab, report, MANY, true, 1).await;
    let one = race(lab, report, 1, false, rounds).await;
    let many = race(lab, report, MANY, false, rounds).await;
    let unit = Unit::Milliseconds;
    report.row(SECTION, "1 plugin, warm cache", unit, one, None);
    report.row(SECTION, &format!("{MANY} plugins, warm cache"), unit, many, Some(Target::AtMost(50.0)));
    report.row(SECTION, "1 plugin, cold cache", unit, cold_one, None);
    report.row(SECTION, &format!("{MANY} plugins, cold cache"), unit, cold_many, None);
}

async fn race(lab: &Lab, report: &mut Report, plugins: usize, cold: bool, rounds: usize) -> Figures {
    // The meter does not affect the start; the native server's one start is the baseline for all rows.
    let contenders = [Contender::Native, Contender::Fuel];
    let cache = if cold { "cold" } else { "warm" };
    let name = format!("{SECTION}, plugins: {plugins}, {cache} cache");
    let mut race = Race::line_up(name, &contenders, report, async |_| Ok(())).await;
    let warm_up = usize::from(!cold);
    let [figures] = race
        .run(report, warm_up, rounds, async |contender, ()| Ok([start(lab, contender, plugins, cold).await?]))
        .await;
    figures
}

/// Milliseconds from before the process is spawned to the verified answer.
async fn start(lab: &Lab, contender: Contender, plugins: usize, cold: bool) -> Result<f64> {
    let request = Template::list_tools();
    let set = Set::Copies(plugins);
    let transport = Transport::Stdio;
    let command =
        if cold { lab.cold_command(contender, set, transport) } else { lab.command(contender, set, transport) }?;
    let begin = Instant::now();
    let mut server = Server::start(command, transport).await?;
    let mut client = server.connect().await?;
    let answer = client.ask(&request).await.map_err(|error| server.explain(&error))?;
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    if contender != Contender::Native {
        check(&answer.text, plugins)?;
    }
    drop(client);
    server.stop().await?;
    Ok(elapsed)
}

/// Every plugin must list a tool: a start that defers loading plugins does not count.
fn check(listing: &str, plugins: usize) -> Result<()> {
    let listing: Listing = serde_json::from_str(listing).context("not a list of tools")?;
    let shown: BTreeSet<&str> = listing.tools.iter().filter_map(|tool| Some(tool.name.split_once("__")?.0)).collect();
    for number in 0..plugins {
        let name = copy_name(number);
        ensure!(shown.contains(&*name), "tools/list shows no tool of {name}, and {} plugins in all", shown.len());
    }
    Ok(())
}
