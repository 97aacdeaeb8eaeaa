//! `portcullis serve`.

use super::confinement::confinement_needs;
use super::options::ConfigFile;
use super::stop_signals::{stop_signals, supervised_stop_signals};
use super::supervisor::{SESSION_LOG, Supervisor};
use super::text::print_error;
use crate::config::{Config, parse_listen_address};
use crate::host::{self, Host};
use anyhow::{Context, ensure};
use mcp::transport::{
    HttpOptions, HttpServer, LegacyOptions, refuse_first_request, serve_account_pages, serve_metrics, serve_stdio,
};
use mcp::{IdempotencyKeys, ParkedCalls, Server, ServerParts, StandInTools, Tasks};
use platform::clock::{Clock, SystemClock};
use platform::confine::{self, ConfineSettings, Confinement};
use platform::file_descriptors;
use platform::identity::Authenticator;
use platform::programs::ProgramStarter;
use platform::session_log::SessionLog;
use platform::signals;
use platform::storage::SessionStore;
use plugins::catalog::CurrentCatalog;
use plugins::fuel_budgets::FuelBudgets;
use policy::Principal;
use runtime::engine::open_page_map;
use services::connections::ConnectionBroker;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tikv_jemalloc_ctl::{Access, AsName, background_thread};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    file: ConfigFile,
    /// Serve Streamable HTTP on this address, such as 127.0.0.1:8808 or 8808, instead of stdio. Port 0 takes a free port. Overrides `server.http`.
    #[arg(long, value_name = "ADDR", value_parser = parse_listen_address)]
    http: Option<SocketAddr>,
    /// Keep all rights of the user instead of giving up those that serving does not need. Overrides `server.confine`.
    #[arg(long)]
    no_confine: bool,
    /// Serve other machines although nobody has to log in: everybody there can call every tool. Overrides `server.auth.anonymous`.
    #[arg(long)]
    insecure: bool,
    /// Load all plugins before anything is served, and do not start if one cannot be loaded.
    #[arg(long)]
    strict: bool,
    /// Over stdio, end when the process that serves is killed, instead of starting another one that goes on.
    #[arg(long)]
    no_supervisor: bool,
    /// The descriptor of the supervisor under which it has the log of the session.
    #[arg(long = SESSION_LOG, hide = true)]
    session_log: Option<i32>,
}

/// A server that is ready to start, and confined if configured.
pub(super) struct Serving {
    config: Config,
    /// Whether the kernel reports which pages a guest has written.
    page_map: bool,
    confined: Option<Confinement>,
    /// The files that a confined server may use.
    needs: Option<ConfineSettings>,
    strict: bool,
    /// Whether this process also builds a plugin, with the author's tools.
    builds: bool,
    /// The log of the session, for the process that takes the place of this one.
    session_log: Option<Arc<SessionLog>>,
}

/// Ends a server that cannot start or continue. Its client gets the reason in answer to its first request, unless it has been
/// served before: what it sends then is for the next process.
pub(super) fn fail(
    error: anyhow::Error,
    is_over_stdio: bool,
    session_log: Option<&SessionLog>,
) -> anyhow::Result<ExitCode> {
    let was_served = session_log.is_some_and(SessionLog::has_been_served);
    if !is_over_stdio || was_served || std::io::stdin().is_terminal() {
        return Err(error);
    }
    let reason = format!("{error:#}");
    print_error(&reason);
    refuse_first_request(&format!("portcullis cannot serve: {reason}"));
    Ok(ExitCode::FAILURE)
}

impl Serve {
    /// The supervisor, if another process than this one is to serve.
    pub(super) fn supervisor(&self) -> Option<Supervisor> {
        let serves_itself = self.http.is_some() || self.no_supervisor || self.session_log.is_some();
        if serves_itself { None } else { Supervisor::for_config(&self.file) }
    }

    /// Whether its client is at stdin and stdout, unless the configuration names another way.
    pub(super) fn is_over_stdio(&self) -> bool {
        self.http.is_none() && !is_stdin(&self.file.config)
    }

    /// The session log of the supervisor, if there is one. From then on, this process ends with the supervisor.
    pub(super) fn session_log(&self) -> anyhow::Result<Option<Arc<SessionLog>>> {
        let Some(descriptor) = self.session_log else { return Ok(None) };
        let log = signals::end_with_parent().and_then(|()| SessionLog::open_of_parent(descriptor));
        let log = log.context("cannot open the session log of the supervisor: start it with --no-supervisor")?;
        Ok(Some(Arc::new(log)))
    }

    /// Loads the configuration and gives up all rights that it does not need.
    pub(super) fn confined(self, session_log: Option<Arc<SessionLog>>) -> anyhow::Result<Serving> {
        let mut config = Config::load_with_own_state(&self.file.config)?;
        config.http = self.http.or(config.http);
        ensure!(
            config.http.is_some() || !is_stdin(&self.file.config),
            "the configuration comes from stdin, where the client would be: serve over HTTP with --http, or write it into a file"
        );
        ensure!(
            config.http.is_none() || session_log.is_none(),
            "{} serves over HTTP now, and this client is connected over stdio: connect to {}, or remove `server.http`",
            self.file.config.display(),
            config.http.map(|address| address.to_string()).unwrap_or_default()
        );
        config.confine &= !self.no_confine;
        config.auth.anonymous |= self.insecure;
        Ok(Serving { strict: self.strict, session_log, ..Serving::confined(config, &self.file.config, false)? })
    }
}

/// Whether a path leads to this process's stdin.
fn is_stdin(path: &Path) -> bool {
    let same = |there: std::fs::Metadata, stdin: rustix::fs::Stat| {
        (there.dev(), there.ino()) == (stdin.st_dev, stdin.st_ino) && !there.is_file()
    };
    std::fs::metadata(path).ok().zip(rustix::fs::fstat(std::io::stdin()).ok()).is_some_and(|(a, b)| same(a, b))
}

/// How long the allocator keeps memory that is free. It looks at its arenas once in this time, and may begin to count at the
/// next look: the memory of a large message is given back after at most twice this time. The allocator's default is 10 s.
const FREE_MEMORY_KEPT: Duration = Duration::from_secs(1);

/// Lets the allocator's threads return memory to the system that was free for [`FREE_MEMORY_KEPT`], also while the server is
/// idle.
fn give_back_free_memory() {
    let keep = |name: &[u8]| Access::<isize>::write(name.name(), FREE_MEMORY_KEPT.as_millis() as isize);
    // The first sets the default of new arenas, the second the time of the arena that exists already.
    let set = [keep(b"arenas.dirty_decay_ms\0"), keep(b"arena.0.dirty_decay_ms\0"), background_thread::write(true)];
    for error in set.into_iter().filter_map(Result::err) {
        tracing::debug!(%error, "free memory is given back later");
    }
}

impl Serving {
    /// Gives up all rights that serving this configuration, or building a plugin beside it, does not need.
    pub(super) fn confined(config: Config, file: &Path, builds: bool) -> anyhow::Result<Self> {
        file_descriptors::raise_limit();
        config.http.map_or(Ok(()), |address| config.auth.check_address(address)).map_err(anyhow::Error::msg)?;
        let needs = config.confine.then(|| confinement_needs(&config, file, builds));
        let mut config = config;
        let mut run =
            config.upstreams.iter_mut().filter_map(|it| Some((it.program()?, it))).unzip::<_, _, Vec<_>, Vec<_>>();
        if needs.is_some() && !run.0.is_empty() {
            let starters = ProgramStarter::with_helper(&host::worker_program()?, std::mem::take(&mut run.0));
            let starters = starters.context("cannot start the process that starts the programs of [upstream]")?;
            run.1.into_iter().zip(starters).for_each(|(upstream, starter)| upstream.starter = starter);
        }
        let page_map = open_page_map();
        let confined = needs.as_ref().map(confine::server).transpose();
        let confined = confined.context("start it with --no-confine, or set `confine = false` under [server]")?;
        // Starts the allocator's threads. One that had started before would not be confined.
        give_back_free_memory();
        let needs = needs.filter(|_| confined.is_some_and(|in_force| in_force.files.is_some()));
        Ok(Self { config, page_map, confined, needs, strict: false, builds, session_log: None })
    }

    /// Whether its client is at stdin and stdout.
    pub(super) fn is_over_stdio(&self) -> bool {
        self.config.http.is_none()
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let (stop, force_stop) = if self.session_log.is_some() { supervised_stop_signals() } else { stop_signals() }?;
        self.run_until(stop, force_stop).await
    }

    /// Serves until it is told to stop, or its client ends.
    pub(super) async fn run_until(
        self,
        stop: CancellationToken,
        force_stop: CancellationToken,
    ) -> anyhow::Result<ExitCode> {
        let Self { config, page_map, confined, needs, strict, builds, session_log } = self;
        platform::telemetry::set_log_format(config.telemetry.log);
        match confined {
            Some(Confinement { files: None, syscalls: None }) => {
                tracing::warn!("not confined: the kernel does not support it")
            }
            Some(in_force) => tracing::info!("confined: {in_force}"),
            None => tracing::warn!("not confined, as configured: the server keeps all rights of its user"),
        }
        if confined.is_some() && config.runs_upstream_programs() {
            tracing::warn!("the programs of [upstream] are not confined: they have the rights of the user");
        }
        if builds && confined.is_some() {
            tracing::info!("files are not confined, since the tools that build the plugin would be confined, too");
        }
        if !page_map {
            tracing::info!("the kernel cannot tell which pages a guest has written (Linux 6.7 can): calls take longer");
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let broker = host::open_connection_broker(&config)?;
        let mut http = None;
        if let Some(address) = config.http {
            // Binds the address and opens the state first, since they fail quickly.
            let listening = HttpServer::bind(address, http_options(&config, broker.clone(), clock.clone())?).await?;
            let folder = config.state.clone().context("no state folder: set PORTCULLIS_STATE or server.state")?;
            let opening = clock.clone();
            http = Some((listening, tokio::task::spawn_blocking(move || SessionStore::open(&folder, opening)).await??));
        }
        let (host, mut plugins) = Host::start(&config, broker.clone()).await?;
        if strict {
            let failures = tokio::select! {
                failures = plugins.finish() => failures,
                () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
            };
            anyhow::ensure!(failures.is_empty(), failures.join("\n"));
            if let Some(problem) = host.runner.state_problem() {
                anyhow::bail!("{problem}");
            }
        }
        // Loading goes on while the server stops, since running requests may wait for it.
        let loading = AbortOnDropHandle::new(tokio::spawn(host::load_plugins(plugins, config.clone(), needs)));
        tokio::spawn(stop.clone().run_until_cancelled_owned(report_ready(host.catalog.clone(), host.upstreams.len())));
        let stand_in_tools = config.stand_in_tools.as_deref().map(read_stand_in_tools).transpose()?.map(Arc::new);
        let store = host::open_durable_store(&config, clock.clone()).await;
        if let Some(problem) = store.store.problem().filter(|_| strict) {
            anyhow::bail!("{problem}");
        }
        let shared = host::open_shared_parking(&config, store.store.clone(), host.audit.clone())?;
        let parked_calls = ParkedCalls::new(config.parked.clone(), clock.clone(), shared)?;
        let kept = store.process.as_ref().map(|_| store.store.clone());
        if let Some(kept) = kept.clone() {
            // Before anything is served, so that no client is told that something does not exist which is only not read yet.
            host.keep_published(&config, kept).await;
        }
        let fuel = FuelBudgets::new(config.fuel, clock.clone(), kept);
        fuel.keep_stored();
        host.runner.set_fuel_budgets(fuel.clone());
        let (shared, holder) = (store.store.clone(), store.holder());
        let keys = IdempotencyKeys::open(shared, holder, config.idempotency.clone(), clock.clone())?;
        let tasks = Tasks::open(store, config.tasks.clone(), clock.clone(), host.changes.clone(), &parked_calls);
        let (counted, open) = (parked_calls.clone(), tasks.clone());
        host.metrics.on_scrape(move |levels| {
            levels.parked_calls.set(i64::try_from(counted.count()).unwrap_or(i64::MAX));
            let (running, suspended) = open.open_count();
            levels.open_tasks.set(i64::try_from(running).unwrap_or(i64::MAX));
            levels.suspended_tasks.set(i64::try_from(suspended).unwrap_or(i64::MAX));
        });
        if let Some(address) = config.metrics {
            serve_metrics(address, &config.allowed_hosts, host.metrics.clone(), stop.clone()).await?;
        }
        let server = |principal| {
            Server::new(ServerParts {
                catalog: host.catalog.clone(),
                runner: host.runner.clone(),
                host_tools: host.agent.clone(),
                parked_calls: parked_calls.clone(),
                tasks: tasks.clone(),
                keys: keys.clone(),
                principal_store: host.principal_store.clone(),
                changes: host.changes.clone(),
                principal,
                stop: stop.clone(),
                fallback_tools: config.fallback_tools,
                stand_in_tools: stand_in_tools.clone(),
            })
        };
        match http {
            // Each request names its principal, if authentication is on.
            Some((http, storage)) => {
                http.serve(server(Principal::anonymous()), storage, clock, stop, force_stop).await?
            }
            // Only the user who started the server can reach it.
            None => {
                if let Some(broker) = broker {
                    serve_account_pages(broker, stop.clone()).await?;
                }
                serve_stdio(server(Principal::local()), session_log, stop, force_stop).await?;
            }
        }
        drop(loading);
        keys.close().await;
        parked_calls.drop_all();
        tasks.close().await;
        fuel.save().await;
        host.principal_store.save().await;
        host.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// Reports what is served once everything that can be loaded is loaded.
async fn report_ready(catalog: Arc<CurrentCatalog>, upstreams: usize) {
    let catalog = catalog.loaded().await;
    let missing: Vec<&str> = catalog.missing().keys().map(String::as_str).collect();
    if !missing.is_empty() {
        tracing::error!("served without {}, which cannot be loaded; the lines above say why", missing.join(", "));
    }
    tracing::info!(
        plugins = catalog.plugins().len(),
        missing = missing.len(),
        agent = catalog.agent_plugins().len(),
        upstreams,
        tools = catalog.tools().count() + catalog.upstream_tools().count(),
        resources = catalog.resources().count() + catalog.upstream_resources().count(),
        prompts = catalog.prompts().count() + catalog.upstream_prompts().count(),
        "ready"
    );
}

/// Loads the tools that a client's model or user may answer for.
fn read_stand_in_tools(file: &Path) -> anyhow::Result<StandInTools> {
    let text = std::fs::read_to_string(file).with_context(|| format!("[stand-in] cannot read {}", file.display()))?;
    StandInTools::parse(&text).map_err(|why| anyhow::anyhow!("[stand-in] {}: {why}", file.display()))
}

fn http_options(
    config: &Config,
    broker: Option<Arc<ConnectionBroker>>,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<HttpOptions> {
    if let (Some(broker), Some(public)) = (&broker, &config.public_url) {
        broker.set_public_url(public.url().clone());
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
