//! Reverse calls: a tool calls the agent's calendar a hundred times in sequence, for each place where the calendar can
//! be; and the same calendar called directly.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::client::{Agent, Client, Lane, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::percentile::percentile;
use crate::plugins::{Calendar, Set};
use crate::report::{Report, Target, Unit, divided};
use crate::server::{Server, Transport};

/// Reverse calls inside one call.
const CALLS: u64 = 100;
const TOOL: &str = "planner__overhead";

/// The native server makes none.
const CONTENDERS: [Contender; 2] = [Contender::Fuel, Contender::Ticks];

struct Local {
    server: Server,
    client: Client,
    direct: Template,
    reverse: Template,
}

struct Wire {
    server: Server,
    agent: Agent,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let section = format!("{CALLS} reverse calls in one, over stdio");
    let samples = lab.effort.sequential / 20;
    let mut race = Race::line_up(&section, &CONTENDERS, report, async |contender| prepare(lab, contender).await).await;
    let [direct, local] = race
        .run(report, 1, lab.effort.rounds, async |_, lane| {
            side_by_side(lane, samples).await.map_err(|error| lane.server.explain(&error))
        })
        .await;
    let ratio = divided(&local, &direct);
    report.row(&section, "a direct call, p50", Unit::Microseconds, direct, None);
    report.row(&section, "each by `local`, p50", Unit::Microseconds, local, None);
    report.row(&section, "  of a direct call", Unit::Times, ratio, Some(Target::AtMost(1.5)));
    for lane in Lane::ALL {
        let name = format!("each by `{}`, p50", lane.name());
        let calendar = if lane == Lane::Ask { Calendar::Nowhere } else { Calendar::Client };
        let mut race = Race::line_up(format!("{section}, {}", lane.name()), &CONTENDERS, report, async |contender| {
            let mut server = lab.start(contender, Set::Planner(calendar), Transport::Stdio).await?;
            let Client::Stdio(client) = server.connect().await? else { bail!("this is measured over stdio") };
            let agent = Agent::connect(client, lane).await.map_err(|error| server.explain(&error))?;
            Ok(Wire { server, agent })
        })
        .await;
        let rounds = lab.effort.rounds;
        let [each] = race
            .run(report, 1, rounds, async |_, lane| {
                through(lane, samples.div_ceil(5)).await.map_err(|error| lane.server.explain(&error))
            })
            .await;
        report.row(&section, &name, Unit::Microseconds, each, None);
    }
}

async fn prepare(lab: &Lab, contender: Contender) -> Result<Local> {
    let mut server = lab.start(contender, Set::Planner(Calendar::Local), Transport::Stdio).await?;
    let client = server.connect().await?;
    let direct = Template::call("calendar__free_slots".into(), json!({"day": "2026-12-01"}));
    let reverse = Template::call(TOOL.into(), json!({"calls": CALLS}));
    Ok(Local { server, client, direct, reverse })
}

/// Microseconds of a direct call, and of a reverse call including its share of the outer call.
async fn side_by_side(lane: &mut Local, samples: usize) -> Result<[f64; 2]> {
    let mut direct = Vec::with_capacity(samples);
    let mut reverse = Vec::with_capacity(samples);
    for _ in 0..samples {
        let begin = Instant::now();
        lane.client.ask(&lane.direct).await?;
        direct.push(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        let answer = lane.client.ask(&lane.reverse).await?;
        reverse.push(begin.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
        let said = json!({"calls": CALLS, "succeeded": CALLS}).to_string();
        ensure!(answer.text == said, "the tool says {} instead of {said}", answer.text);
    }
    Ok([percentile(&mut direct, 50.0).context("no samples")?, percentile(&mut reverse, 50.0).context("no samples")?])
}

/// The same for calls that the client answers.
async fn through(lane: &mut Wire, samples: usize) -> Result<[f64; 1]> {
    let mut each = Vec::with_capacity(samples);
    for _ in 0..samples {
        let before = lane.agent.served;
        let begin = Instant::now();
        let said = lane.agent.call(TOOL, &json!({"calls": CALLS})).await?;
        each.push(begin.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
        ensure!(said == json!({"calls": CALLS, "succeeded": CALLS}), "the tool says {said}");
        let served = lane.agent.served - before;
        ensure!(served == CALLS, "{served} calls came back instead of {CALLS}");
    }
    Ok([percentile(&mut each, 50.0).context("no samples")?])
}
