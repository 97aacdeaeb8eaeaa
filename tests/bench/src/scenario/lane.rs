//! A server with an echo and the clients that call it: latency, calls per second, and the server's CPU time per call.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::client::{Client, HttpClient, Template, crowd};
use crate::contender::Contender;
use crate::percentile::percentile;
use crate::server::Server;

/// Requests in flight; over HTTP each has its own connection.
pub(super) const IN_FLIGHT: usize = 32;

pub(super) struct EchoLane {
    pub(super) server: Server,
    pub(super) client: Client,
    /// The connections for many requests in flight, over HTTP; as many as were needed so far.
    crowd: Vec<HttpClient>,
    pub(super) echo: Template,
}

impl EchoLane {
    pub(super) async fn new(server: Server, contender: Contender) -> Result<Self> {
        let echo = Template::echo(contender.tool("echo"));
        // The same answer to every request cannot carry its number.
        let echo = if contender == Contender::Floor { echo.with_constant_answer() } else { echo };
        Self::with(server, echo).await
    }

    /// A lane with another call in place of the echo.
    pub(super) async fn with(mut server: Server, echo: Template) -> Result<Self> {
        let client = server.connect().await?;
        Ok(Self { server, client, crowd: Vec::new(), echo })
    }

    /// Microseconds of `count` calls in sequence: p50, p99, and the server's CPU time of each.
    pub(super) async fn sequential(&mut self, count: usize) -> Result<[f64; 3]> {
        let mut samples = Vec::with_capacity(count);
        let cpu = self.server.cpu_time()?;
        for _ in 0..count {
            let begin = Instant::now();
            self.client.ask(&self.echo).await.map_err(|error| self.server.explain(&error))?;
            samples.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        let cpu = self.server.cpu_time()?.saturating_sub(cpu);
        let [p50, p99] = [50.0, 99.0].map(|percent| percentile(&mut samples, percent));
        Ok([p50.context("no samples")?, p99.context("no samples")?, cpu.as_secs_f64() * 1e6 / count as f64])
    }

    /// Calls per second with so many in flight, and the server's microseconds of CPU time for each.
    pub(super) async fn together(&mut self, in_flight: usize, count: usize) -> Result<[f64; 2]> {
        if matches!(self.client, Client::Http(_)) && self.crowd.len() < in_flight {
            self.crowd.extend(connections(&self.server, in_flight - self.crowd.len()).await?);
        }
        let cpu = self.server.cpu_time()?;
        let rate = match &mut self.client {
            Client::Stdio(client) => client.pipeline(&self.echo, in_flight, count).await,
            Client::Http(_) => crowd(&mut self.crowd[..in_flight], &self.echo, count).await,
        };
        let rate = rate.map_err(|error| self.server.explain(&error))?;
        let cpu = self.server.cpu_time()?.saturating_sub(cpu);
        Ok([rate, cpu.as_secs_f64() * 1e6 / count as f64])
    }
}

/// New connections to a server.
pub(super) async fn connections(server: &Server, count: usize) -> Result<Vec<HttpClient>> {
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        connections.push(server.connect_http().await?);
    }
    Ok(connections)
}
