//! `portcullis serve`.

use super::ConfigFile;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::host::Host;
use crate::mcp::Server;
use crate::mcp::transport::{HttpOptions, HttpServer, LegacyOptions, serve_stdio};
use crate::storage::Storage;
use anyhow::Context;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Over stdio everybody who can talk to the server is the user who started it; over HTTP nobody has said who they are.
const STDIO_PRINCIPAL: &str = "local";
const HTTP_PRINCIPAL: &str = "anonymous";

#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    file: ConfigFile,
    /// Serve Streamable HTTP here instead of stdio, such as 127.0.0.1:8808; port 0 takes a free one. Overrides `server.http`.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

impl Serve {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load(&self.file.config)?;
        let (stop, hurry) = stop_signals()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut http = None;
        if let Some(address) = self.http.or(config.http) {
            // First the address and the state, which are quick to fail.
            let listening = HttpServer::bind(address, http_options(&config)).await?;
            let folder = config.state.clone().context("no state folder: set PORTCULLIS_STATE or server.state")?;
            let opening = clock.clone();
            http = Some((listening, tokio::task::spawn_blocking(move || Storage::open(&folder, opening)).await??));
        }
        let host = tokio::select! {
            host = Host::start(&config) => host?,
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        };
        tracing::info!(
            plugins = host.catalog.plugins().len(),
            agent = host.agents.len(),
            tools = host.catalog.iter().count(),
            "ready"
        );
        let server = |principal| Server::new(host.catalog.clone(), host.runner.clone(), host.agent.clone(), principal);
        match http {
            Some((http, storage)) => http.serve(server(HTTP_PRINCIPAL), storage, clock, stop, hurry).await?,
            None => serve_stdio(server(STDIO_PRINCIPAL), stop, hurry).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn http_options(config: &Config) -> HttpOptions {
    HttpOptions {
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
        max_body: config.max_body,
        legacy: LegacyOptions { max_sessions: config.max_sessions, poll_after: config.poll_after },
    }
}

/// Cancelled by SIGTERM or Ctrl-C: the first by the first of them, the second by the next, for whoever cannot wait.
fn stop_signals() -> std::io::Result<(CancellationToken, CancellationToken)> {
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cancelled = [stop.clone(), hurry.clone()];
    tokio::spawn(async move {
        for token in cancelled {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            tracing::info!("stopping");
            token.cancel();
        }
    });
    Ok((stop, hurry))
}
