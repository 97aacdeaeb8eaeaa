//! From the start of the process to the first answer of `tools/list`, over stdio.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::client::{Client, Template, Tool};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::{Set, copy_name};
use crate::report::{Report, Samples, Series, Target, Unit, at_most};
use crate::server::{Server, Transport};

const SECTION: &str = "start to first tools/list";

/// The meter does not affect the start; the native server's one start is the baseline for all rows.
const CONTENDERS: [Contender; 2] = [Contender::Native, Contender::Fuel];

/// The number of plugins that has a target; one of them is then called for the first time.
const MANY: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    tools: Vec<Tool>,
    next_cursor: Option<String>,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let (rounds, unit) = (lab.effort.rounds, Unit::Milliseconds);
    for &plugins in &lab.effort.plugins {
        if let Err(error) = lab.compile(Contender::Fuel, Set::Copies(plugins)).await {
            report.fail(&format!("{SECTION}, {plugins} plugins, compiling them"), Contender::Fuel, &error);
            continue;
        }
        let rounds = if plugins < 500 { rounds } else { rounds.min(3) };
        let [start, first_call] = race(lab, report, plugins, false, rounds).await;
        let target = at_most(plugins, [10.0, 20.0, 30.0, 100.0]);
        let what = if plugins == 1 { "1 plugin".to_owned() } else { format!("{plugins} plugins") };
        report.row(SECTION, &format!("{what}, warm cache"), unit, start, target).at(Series::StartByPlugins, plugins);
        if plugins == MANY {
            let what = format!("  first call of the {plugins}th plugin");
            report.row(SECTION, &what, unit, first_call, Some(Target::AtMost(5.0)));
        }
    }
    for (plugins, rounds) in [(1, rounds.min(3)), (MANY, 1)] {
        if lab.effort.plugins.contains(&plugins) {
            let [start, _] = race(lab, report, plugins, true, rounds).await;
            let what = if plugins == 1 { "1 plugin".to_owned() } else { format!("{plugins} plugins") };
            report.row(SECTION, &format!("{what}, cold cache"), unit, start, None);
        }
    }
}

async fn race(lab: &Lab, report: &mut Report, plugins: usize, cold: bool, rounds: usize) -> [Samples; 2] {
    let cache = if cold { "cold" } else { "warm" };
    let name = format!("{SECTION}, plugins: {plugins}, {cache} cache");
    let mut race = Race::line_up(name, &CONTENDERS, report, async |_| Ok(())).await;
    let warm_up = usize::from(!cold);
    race.run(report, warm_up, rounds, async |contender, ()| start(lab, contender, plugins, cold).await).await
}

/// Milliseconds from before the process is spawned to a list of all tools, and then of the first call of the last plugin.
async fn start(lab: &Lab, contender: Contender, plugins: usize, cold: bool) -> Result<[f64; 2]> {
    let set = Set::Copies(plugins);
    let transport = Transport::Stdio;
    let command =
        if cold { lab.cold_command(contender, set, transport) } else { lab.command(contender, set, transport) }?;
    let begin = Instant::now();
    let mut server = Server::start(command, transport).await?;
    let mut client = server.connect().await?;
    let mut answer = client.ask(&Template::list_tools()).await.map_err(|error| server.explain(&error))?;
    if cold && contender.is_ours() {
        // A list that takes long comes before it is complete.
        server.ready().await?;
        answer = client.ask(&Template::list_tools()).await.map_err(|error| server.explain(&error))?;
    }
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    let last = copy_name(plugins - 1);
    let tool = if contender.is_ours() { format!("{last}__echo") } else { "echo".into() };
    let echo = Template::echo(tool);
    let begin = Instant::now();
    client.ask(&echo).await.map_err(|error| server.explain(&error))?;
    let first_call = begin.elapsed().as_secs_f64() * 1e3;
    if contender.is_ours() {
        check(&mut client, answer.text, plugins).await?;
    }
    drop(client);
    server.stop().await?;
    Ok([elapsed, first_call])
}

/// Every plugin must list a tool: a start that defers loading plugins does not count.
async fn check(client: &mut Client, first: String, plugins: usize) -> Result<()> {
    let mut shown = BTreeSet::new();
    let mut page = first;
    loop {
        let listing: Listing = serde_json::from_str(&page).context("not a list of tools")?;
        let names = listing.tools.iter().filter_map(|tool| Some(tool.name.split_once("__")?.0.to_owned()));
        shown.extend(names);
        let Some(cursor) = listing.next_cursor else { break };
        page = client.ask(&Template::more_tools(&cursor)).await?.text;
    }
    for number in 0..plugins {
        let name = copy_name(number);
        ensure!(shown.contains(&name), "tools/list shows no tool of {name}, and {} plugins in all", shown.len());
    }
    Ok(())
}
