//! The cheapest possible tool: one caller at a time, then 32 requests in flight.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::client::{Client, HttpClient, Template, crowd};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::{Race, percentile};
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Target, Unit};
use crate::server::{Server, Transport};

/// Requests in flight; over HTTP each has its own connection.
pub(super) const IN_FLIGHT: usize = 32;

struct Lane {
    server: Server,
    client: Client,
    /// The connections for many requests in flight, over HTTP.
    crowd: Vec<HttpClient>,
    echo: Template,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    for transport in Transport::ALL {
        let name = format!("echo over {}", transport.name());
        let mut race =
            Race::line_up(&name, &Contender::ALL, report, async |contender| prepare(lab, contender, transport).await)
                .await;
        let effort = lab.effort;
        let [p50, p99] = race
            .run(report, 1, effort.rounds, async |_, lane| {
                sequential(lane, effort.sequential).await.map_err(|error| lane.server.explain(&error))
            })
            .await;
        let (mut requests, clock, cpu) = (0, Instant::now(), procfs::own_cpu_time());
        let [rate] = race
            .run(report, 1, effort.rounds, async |_, lane| {
                requests += effort.crowd;
                together(lane, effort.crowd).await.map_err(|error| lane.server.explain(&error))
            })
            .await;
        note_own_cost(report, &name, requests, clock.elapsed(), procfs::own_cpu_time() - cpu);
        report.row(&name, "one at a time, p50", Unit::Microseconds, p50, Some(Target::RatioAtMost(1.5)));
        report.row(&name, "one at a time, p99", Unit::Microseconds, p99, None);
        let what = format!("{IN_FLIGHT} in flight");
        report.row(&name, &what, Unit::PerSecond, rate, Some(Target::RatioAtLeast(0.8)));
    }
}

async fn prepare(lab: &Lab, contender: Contender, transport: Transport) -> Result<Lane> {
    let mut server = lab.start(contender, Set::Bench, transport).await?;
    let client = server.connect().await?;
    let crowd = if transport == Transport::Http { connections(&server).await? } else { Vec::new() };
    Ok(Lane { server, client, crowd, echo: Template::echo(contender.tool("echo")) })
}

/// As many connections as there are requests in flight.
pub(super) async fn connections(server: &Server) -> Result<Vec<HttpClient>> {
    let mut connections = Vec::with_capacity(IN_FLIGHT);
    for _ in 0..IN_FLIGHT {
        connections.push(server.connect_http().await?);
    }
    Ok(connections)
}

/// p50 and p99 in microseconds.
async fn sequential(lane: &mut Lane, count: usize) -> Result<[f64; 2]> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = Instant::now();
        lane.client.ask(&lane.echo).await?;
        samples.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    let percent = |samples: &mut [f64], percent| percentile(samples, percent).context("no samples");
    Ok([percent(&mut samples, 50.0)?, percent(&mut samples, 99.0)?])
}

/// Requests per second.
async fn together(lane: &mut Lane, count: usize) -> Result<[f64; 1]> {
    let rate = match &mut lane.client {
        Client::Stdio(client) => client.pipeline(&lane.echo, IN_FLIGHT, count).await?,
        Client::Http(_) => crowd(&mut lane.crowd, &lane.echo, count).await?,
    };
    Ok([rate])
}

/// A client that uses a whole core measures itself.
fn note_own_cost(report: &mut Report, name: &str, requests: usize, clock: Duration, cpu: Duration) {
    if requests > 0 && !cpu.is_zero() {
        let share = 100.0 * cpu.as_secs_f64() / clock.as_secs_f64();
        let each = 1e6 * cpu.as_secs_f64() / requests as f64;
        report.notes.push(format!(
            "{name}: with {IN_FLIGHT} in flight the load client itself used {share:.0} % of one core, {each:.1} µs a request"
        ));
    }
}
