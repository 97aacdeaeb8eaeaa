//! Clients of 2025-11-25 that open a session for a single call, as many agents do: the time of such a visit.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::client::{Template, visit};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::report::{Report, Unit};
use crate::server::{Server, Transport};

const SECTION: &str = "a session for one call, over HTTP";

struct Lane {
    server: Server,
    echo: Template,
    visits: u64,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let mut race = Race::line_up(SECTION, &Contender::COMPARED, report, async |contender| {
        let server = lab.start(contender, Set::Bench, Transport::Http).await?;
        Ok(Lane { server, echo: Template::legacy_echo(&contender.tool("echo")), visits: 0 })
    })
    .await;
    let count = lab.effort.sequential / 10;
    let [p50, cpu] = race
        .run(report, 1, lab.effort.rounds, async |_, lane| {
            visits(lane, count).await.map_err(|error| lane.server.explain(&error))
        })
        .await;
    report.row(SECTION, "visit of six requests, p50", Unit::Microseconds, p50, None).compared();
    report.row(SECTION, "visit of six requests, CPU", Unit::Microseconds, cpu, None).compared();
}

async fn visits(lane: &mut Lane, count: usize) -> Result<[f64; 2]> {
    let address = lane.server.address()?;
    let cpu = lane.server.cpu_time()?;
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        lane.visits += 1;
        let begin = Instant::now();
        visit(address, &lane.echo, lane.visits).await?;
        samples.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    let cpu = lane.server.cpu_time()?.saturating_sub(cpu);
    let p50 = percentile(&mut samples, 50.0).context("no samples")?;
    Ok([p50, cpu.as_secs_f64() * 1e6 / count as f64])
}
