//! `portcullis serve`.

use super::{ConfigFile, needs};
use crate::config::Config;
use crate::host::{self, Host};
use anyhow::Context;
use mcp::transport::{HttpOptions, HttpServer, LegacyOptions, serve_metrics, serve_pages, serve_stdio};
use mcp::{AskTools, Lot, Parts, Server};
use platform::clock::{Clock, SystemClock};
use platform::confine::{self, InForce, Needs};
use platform::identity::Authenticator;
use platform::storage::Storage;
use policy::Principal;
use services::connections::Broker;
use std::net::SocketAddr;
use std::path::Path;
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
    /// Keep everything that the user who starts it may do, instead of giving up what serving does not need. Overrides `server.confine`.
    #[arg(long)]
    no_confine: bool,
}

/// A server about to start: what it does not need is given up.
pub(super) struct Serving {
    config: Config,
    confined: Option<InForce>,
    /// What it is left with of the machine's files, where they are confined.
    needs: Option<Needs>,
}

impl Serve {
    /// Reads the configuration and gives up what it does not ask for.
    pub(super) fn confined(self) -> anyhow::Result<Serving> {
        let mut config = Config::load(&self.file.config)?;
        config.http = self.http.or(config.http);
        config.confine &= !self.no_confine;
        let needs = config.confine.then(|| needs::of(&config, &self.file.config));
        let confined = needs.as_ref().map(confine::server).transpose();
        let confined = confined.context("start it with --no-confine, or set `confine = false` under [server]")?;
        let needs = needs.filter(|_| confined.is_some_and(|in_force| in_force.files.is_some()));
        Ok(Serving { config, confined, needs })
    }
}

impl Serving {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { config, confined, needs } = self;
        platform::telemetry::log_as(config.telemetry.log);
        match confined {
            Some(InForce { files: None, syscalls: None }) => {
                tracing::warn!("not confined: the kernel offers no means")
            }
            Some(in_force) => tracing::info!("confined: {in_force}"),
            None => tracing::warn!("not confined, as it was asked for: it keeps all rights of its user"),
        }
        if confined.is_some_and(|in_force| in_force.files.is_none()) && config.starts_programs() {
            tracing::warn!("files are not confined: the programs of [upstream] would be, too");
        }
        let (stop, hurry) = stop_signals()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let broker = host::broker(&config)?;
        let mut http = None;
        if let Some(address) = config.http {
            // First the address and the state, which are quick to fail.
            let listening = HttpServer::bind(address, http_options(&config, broker.clone(), clock.clone())?).await?;
            let folder = config.state.clone().context("no state folder: set PORTCULLIS_STATE or server.state")?;
            let opening = clock.clone();
            http = Some((listening, tokio::task::spawn_blocking(move || Storage::open(&folder, opening)).await??));
        }
        let host = tokio::select! {
            host = Host::start(&config, broker.clone()) => host?,
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        };
        let catalog = host.catalog.now();
        tracing::info!(
            plugins = catalog.plugins().len(),
            agent = catalog.agents().len(),
            upstreams = host.upstreams.len(),
            tools = catalog.iter().count() + catalog.all_beyond().count(),
            resources = catalog.resources().count(),
            prompts = catalog.prompts().count(),
            "ready"
        );
        drop(catalog);
        if config.reload {
            tokio::spawn(stop.clone().run_until_cancelled_owned(host.reloader(&config, needs.as_ref()).run()));
        }
        let ask = config.ask.as_deref().map(ask_tools).transpose()?.map(Arc::new);
        let lot = Lot::new(config.parked.clone(), Arc::new(SystemClock))?;
        let counted = lot.clone();
        host.metrics.on_scrape(move |levels| {
            levels.parked_calls.set(i64::try_from(counted.parked()).unwrap_or(i64::MAX));
        });
        if let Some(address) = config.metrics {
            serve_metrics(address, &config.allowed_hosts, host.metrics.clone(), stop.clone()).await?;
        }
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
                fallback_tools: config.fallback_tools,
                ask: ask.clone(),
            })
        };
        match http {
            // Who asks is said with each request, if it is asked at all.
            Some((http, storage)) => http.serve(server(Principal::anonymous()), storage, clock, stop, hurry).await?,
            // Whoever can talk to it is the user who started it.
            None => {
                if let Some(broker) = broker {
                    serve_pages(broker, stop.clone()).await?;
                }
                serve_stdio(server(Principal::local()), stop, hurry).await?;
            }
        }
        host.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// The tools for which a client's model or user may stand in.
fn ask_tools(file: &Path) -> anyhow::Result<AskTools> {
    let text = std::fs::read_to_string(file).with_context(|| format!("[ask] cannot read {}", file.display()))?;
    AskTools::parse(&text).map_err(|why| anyhow::anyhow!("[ask] {}: {why}", file.display()))
}

fn http_options(config: &Config, broker: Option<Arc<Broker>>, clock: Arc<dyn Clock>) -> anyhow::Result<HttpOptions> {
    if let (Some(broker), Some(public)) = (&broker, &config.public) {
        broker.set_public(public.url().clone());
    }
    Ok(HttpOptions {
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
        max_body: config.max_body,
        legacy: LegacyOptions { max_sessions: config.max_sessions, poll_after: config.poll_after },
        authenticator: Authenticator::new(&config.auth, clock)?.map(Arc::new),
        broker,
    })
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
