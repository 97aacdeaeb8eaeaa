//! `portcullis serve`.

use super::ConfigFile;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host::{self, Host};
use crate::identity::Authenticator;
use crate::mcp::transport::{HttpOptions, serve_http, serve_pages, serve_stdio};
use crate::mcp::{Lot, Parts, Server};
use crate::policy::Principal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

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
        let stop = stop_signal()?;
        let broker = host::broker(&config)?;
        let host = Host::start(&config, broker.clone()).await?;
        let catalog = host.catalog.now();
        tracing::info!(
            plugins = catalog.plugins().len(),
            agent = catalog.agents().len(),
            tools = catalog.iter().count(),
            resources = catalog.resources().count(),
            prompts = catalog.prompts().count(),
            "ready"
        );
        drop(catalog);
        if config.reload {
            tokio::spawn(stop.clone().run_until_cancelled_owned(host.reloader().run()));
        }
        let lot = Lot::new(config.parked.clone(), Arc::new(SystemClock))?;
        let server = |principal| {
            Server::new(Parts {
                catalog: host.catalog.clone(),
                runner: host.runner.clone(),
                agent: host.agent.clone(),
                lot: lot.clone(),
                shelf: host.shelf.clone(),
                changes: host.changes.clone(),
                principal,
                stop: stop.clone(),
            })
        };
        match self.http.or(config.http) {
            Some(address) => {
                if let (Some(broker), Some(public)) = (&broker, &config.public) {
                    broker.set_public(public.url().clone());
                }
                let options = HttpOptions {
                    allowed_hosts: config.allowed_hosts,
                    allowed_origins: config.allowed_origins,
                    authenticator: Authenticator::new(&config.auth, host.clock.clone())?.map(Arc::new),
                    broker,
                };
                serve_http(server(Principal::anonymous()), address, options, stop).await?;
            }
            // Whoever can talk to it is the user who started it.
            None => {
                if let Some(broker) = broker {
                    serve_pages(broker, stop.clone()).await?;
                }
                serve_stdio(server(Principal::local()), stop).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Cancelled by SIGTERM or Ctrl-C.
fn stop_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cancelled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
        cancelled.cancel();
    });
    Ok(stop)
}
