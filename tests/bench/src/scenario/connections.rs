//! Many idle connections: the memory that they hold, and how calls on other connections fare beside them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::lane::connections;
use super::settle::SETTLE;
use crate::client::{HttpClient, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Samples, Series, Target, Unit};
use crate::server::{Server, Transport};

const WANTED: usize = 10_000;

/// Memory is measured with so many of them, in tenths.
const TENTHS: [usize; 5] = [0, 1, 3, 6, 10];

/// Descriptors for other things than idle connections.
const OTHERS: usize = 256;

/// Calls per second beside the idle connections, and the connections that carry them.
const RATE: usize = 500;
const BUSY: usize = 16;

/// A server that has not answered on a new connection by then has no room for it.
const ROOM: Duration = Duration::from_secs(5);

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let limit = descriptors();
    let count = limit.saturating_sub(OTHERS).min(WANTED);
    if count < WANTED {
        report.notes.push(format!("{limit} descriptors are allowed, so there are {count} idle connections"));
    }
    let section = format!("{count} idle connections, over HTTP");
    let mut memory: [Samples; TENTHS.len()] = Default::default();
    let mut short = Vec::new();
    let mut race = Race::line_up(&section, &[Contender::Native, Contender::Fuel], report, async |_| Ok(())).await;
    let rounds = if lab.effort.quick { 1 } else { 3 };
    let [held, mut p50, mut p99, mut rss] = race
        .run(report, 0, rounds, async |contender, ()| {
            let server = lab.start(contender, Set::Bench, Transport::Http).await?;
            let echo = Template::echo(contender.tool("echo"));
            let crowd = Crowd { server, echo, idle: Vec::new() };
            let figures = crowd.measure(lab, count, |tenth, rss| memory[tenth][contender as usize].push(rss)).await?;
            if (figures[0] as usize) < count {
                short.push((contender, figures[0]));
            }
            Ok(figures)
        })
        .await;
    // Calls beside fewer connections compare with nothing.
    for &(contender, served) in &short {
        report.notes.push(format!("{section}: {contender} serves only {served} of them at a time; others wait"));
        for samples in [&mut p50, &mut p99, &mut rss] {
            samples[contender as usize].clear();
        }
    }
    for (samples, tenths) in memory.into_iter().zip(TENTHS) {
        let at = count * tenths / 10;
        let what = format!("RSS with {at}");
        report.row(&section, &what, Unit::Mebibytes, samples, None).detail().at(Series::MemoryByConnections, at);
    }
    report.row(&section, "served", Unit::Number, held, Some(Target::AtLeast(count as f64)));
    report.row(&section, &format!("{RATE} calls/s beside them, p50"), Unit::Microseconds, p50, None).detail();
    report.row(&section, &format!("{RATE} calls/s beside them, p99"), Unit::Microseconds, p99, None);
    report.row(&section, "RSS after that", Unit::Mebibytes, rss, Some(Target::AtMost(1024.0)));
}

/// Allows this process and the servers that it starts as many descriptors as the machine lets it.
fn descriptors() -> usize {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    usize::try_from(raised).unwrap_or(usize::MAX)
}

struct Crowd {
    server: Server,
    echo: Template,
    idle: Vec<HttpClient>,
}

impl Crowd {
    /// How many connections were served, p50 and p99 of calls beside them in microseconds, and memory in MiB.
    async fn measure(mut self, lab: &Lab, count: usize, mut told: impl FnMut(usize, f64)) -> Result<[f64; 4]> {
        // First, so that they have their places.
        let mut busy = connections(&self.server, BUSY).await?;
        for client in &mut busy {
            client.repeat(&self.echo, 10).await.map_err(|error| self.server.explain(&error))?;
        }
        for (number, tenths) in TENTHS.into_iter().enumerate() {
            if !self.grow(count * tenths / 10).await? {
                break;
            }
            sleep(SETTLE).await;
            told(number, procfs::memory(self.server.pid()?)?.rss);
        }
        let span = Duration::from_secs(if lab.effort.quick { 4 } else { 10 });
        let mut samples = steady(&mut busy, &self.echo, span).await.map_err(|error| self.server.explain(&error))?;
        // A server that has closed them holds nothing.
        for client in self.idle.iter_mut().step_by(50) {
            client.repeat(&self.echo, 1).await.context("an idle connection was closed")?;
        }
        let rss = procfs::memory(self.server.pid()?)?.rss;
        let [p50, p99] = [50.0, 99.0].map(|percent| percentile(&mut samples, percent));
        let held = self.idle.len() as f64;
        self.server.stop().await?;
        Ok([held, p50.context("no samples")?, p99.context("no samples")?, rss])
    }

    /// Opens connections, and makes a call on each, until there are so many. Says whether there are.
    async fn grow(&mut self, count: usize) -> Result<bool> {
        while self.idle.len() < count {
            let Ok(Ok(mut client)) = timeout(ROOM, self.server.connect_http()).await else { return Ok(false) };
            match timeout(ROOM, client.repeat(&self.echo, 1)).await {
                Ok(answered) => answered.map_err(|error| self.server.explain(&error))?,
                Err(_) => return Ok(false),
            }
            self.idle.push(client);
        }
        Ok(true)
    }
}

/// Microseconds of each call at a steady rate. A call that has to wait for an earlier one counts from when it was due.
async fn steady(clients: &mut [HttpClient], echo: &Template, span: Duration) -> Result<Vec<f64>> {
    let (begin, between) = (Instant::now(), Duration::from_secs(1) / RATE as u32);
    let calls = (span.as_secs_f64() * RATE as f64) as usize;
    let lanes = clients.len();
    let each = clients.iter_mut().enumerate().map(async |(lane, client)| {
        let mut samples = Vec::with_capacity(calls / lanes + 1);
        for number in (lane..calls).step_by(lanes) {
            let due = begin + between * u32::try_from(number)?;
            let is_late = Instant::now() > due;
            sleep_until(due).await;
            // A timer may fire late, which is no fault of the server.
            let from = if is_late { due } else { Instant::now() };
            client.repeat(echo, 1).await?;
            samples.push(from.elapsed().as_secs_f64() * 1e6);
        }
        anyhow::Ok(samples)
    });
    let samples = futures::future::try_join_all(each).await?.concat();
    ensure!(samples.len() == calls, "{} calls were made instead of {calls}", samples.len());
    Ok(samples)
}
