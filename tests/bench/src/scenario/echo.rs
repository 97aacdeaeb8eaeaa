//! The cheapest possible tool over each transport: one caller at a time, then 32 requests in flight. Two yardsticks run
//! beside it: an ordinary rmcp server over stdio, and over HTTP a server that does nothing.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::lane::{EchoLane, IN_FLIGHT};
use crate::client::Client;
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Target, Unit};
use crate::server::Transport;

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    for transport in Transport::ALL {
        contest(lab, report, transport).await;
    }
}

async fn contest(lab: &Lab, report: &mut Report, transport: Transport) {
    let name = format!("echo over {}", transport.name());
    let contenders = contenders(transport);
    let mut race =
        Race::line_up(&name, &contenders, report, async |contender| prepare(lab, contender, transport).await).await;
    measure(lab, report, &name, &mut race, Targets::of(transport)).await;
}

/// What a call may cost, as a multiple of the native server's.
pub(super) struct Targets {
    p50: f64,
    per_second: f64,
    crowd_cpu: Option<f64>,
}

impl Targets {
    pub(super) fn of(transport: Transport) -> Self {
        match transport {
            Transport::Http => Self { p50: 1.15, per_second: 0.9, crowd_cpu: Some(1.2) },
            _ => Self { p50: 1.4, per_second: 0.8, crowd_cpu: None },
        }
    }
}

/// The contest of servers that are ready, and its rows.
pub(super) async fn measure(lab: &Lab, report: &mut Report, name: &str, race: &mut Race<EchoLane>, targets: Targets) {
    let effort = &lab.effort;
    let [p50, p99, cpu] =
        race.run(report, 1, effort.rounds, async |_, lane| lane.sequential(effort.sequential).await).await;
    let (mut requests, clock, own) = (0, Instant::now(), procfs::own_cpu_time());
    let [rate, crowd_cpu] = race
        .run(report, 1, effort.rounds, async |_, lane| {
            requests += effort.crowd;
            lane.together(IN_FLIGHT, effort.crowd).await
        })
        .await;
    note_own_cost(report, name, requests, clock.elapsed(), procfs::own_cpu_time().saturating_sub(own));
    let micros = Unit::Microseconds;
    report.row(name, "one at a time, p50", micros, p50, Some(Target::RatioAtMost(targets.p50))).compared();
    report.row(name, "  p99", micros, p99, None).detail();
    report.row(name, "one at a time, CPU per call", micros, cpu, None).compared();
    report
        .row(
            name,
            &format!("{IN_FLIGHT} in flight"),
            Unit::PerSecond,
            rate,
            Some(Target::RatioAtLeast(targets.per_second)),
        )
        .compared();
    let target = targets.crowd_cpu.map(Target::RatioAtMost);
    report.row(name, &format!("{IN_FLIGHT} in flight, CPU per call"), micros, crowd_cpu, target).compared();
}

/// Who takes part. rmcp reads a socket pair through tokio's thread pool even when tuned, so there the native server is
/// an ordinary one, too.
fn contenders(transport: Transport) -> Vec<Contender> {
    let others = |contender: &Contender| match contender {
        Contender::Ordinary => transport == Transport::Stdio,
        Contender::Floor => transport == Transport::Http,
        _ => true,
    };
    Contender::ALL.into_iter().filter(others).collect()
}

async fn prepare(lab: &Lab, contender: Contender, transport: Transport) -> Result<EchoLane> {
    if contender == Contender::Floor {
        give_answer(lab).await?;
    }
    let server = lab.start(contender, Set::Bench, transport).await?;
    EchoLane::new(server, contender).await
}

/// Gives the bare server the bytes of Portcullis' own answer.
pub(super) async fn give_answer(lab: &Lab) -> Result<()> {
    let server = lab.start(Contender::Fuel, Set::Bench, Transport::Http).await?;
    let mut lane = EchoLane::new(server, Contender::Fuel).await?;
    if let Client::Http(client) = &mut lane.client {
        lab.set_constant(&client.bytes(&lane.echo).await?)?;
    }
    lane.server.stop().await
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
