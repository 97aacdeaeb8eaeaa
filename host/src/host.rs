//! The composition root: builds every part from a [`Config`] and wires traits to their implementations.

mod followed;

use crate::config::{Config, ConfigError};
use followed::Followed;
use mcp::STEER_CALL;
use platform::audit::{Audit, FileJournal, JournalError};
use platform::changes::Changes;
use platform::clock::{Clock, SystemClock};
use platform::confine::Needs;
use platform::outbound::{Collector, Outbound, OutboundError, SystemNetwork};
use platform::secrets::{SecretError, Vault};
use platform::storage::StorageError;
use platform::telemetry::{Metrics, Tracer, catch_up};
use plugins::registry::{
    Catalog, CatalogError, CurrentCatalog, FileWatch, LoadError, Loader, Plugin, Reloader, Runner,
};
use plugins::{LocalAgent, Nobody, Together};
use policy::PluginSpec;
use runtime::engine::{CacheError, CompileCache, CompileWorker, Compiler, Engines};
use runtime::imports::{Connections, Keepers, ModelProvider, NoConnections, StateStore, ToolCaller};
use services::connections::{Broker, BrokerError};
use services::egress::Sender;
use services::model::{ChatModel, ModelSetupError};
use services::shelf::Shelf;
use services::state::State;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;
use upstream::{Upstream, gateway};

/// A host that could not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{}", .0.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n"))]
    Load(Vec<LoadError>),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Connections(#[from] BrokerError),
    #[error(transparent)]
    Secrets(#[from] SecretError),
    #[error("connected accounts need a folder of their own: set PORTCULLIS_STATE or server.state")]
    NoState,
    #[error("the host's own binary cannot be found, so nothing can be compiled: {0}")]
    Worker(std::io::Error),
    #[error(transparent)]
    Model(#[from] ModelSetupError),
    #[error(transparent)]
    Audit(#[from] JournalError),
    #[error(transparent)]
    Collector(#[from] OutboundError),
    #[error(
        "server.audit.required needs a folder for the journal: set server.audit.folder, server.state or PORTCULLIS_STATE"
    )]
    NoJournal,
    #[error(transparent)]
    State(#[from] StorageError),
    #[error(transparent)]
    Task(tokio::task::JoinError),
}

/// A running host: plugins loaded, ready for calls.
pub struct Host {
    /// What is offered now.
    pub catalog: Arc<CurrentCatalog>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// Who runs calls.
    pub runner: Arc<Runner>,
    /// What calls left behind.
    pub shelf: Arc<Shelf>,
    /// Where changes are told.
    pub changes: Changes,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Servers behind this host.
    pub upstreams: Vec<Upstream>,
    /// Where decisions are recorded.
    pub audit: Audit,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    collector: Option<Collector>,
    loader: Arc<Loader>,
    watch: FileWatch,
}

impl Host {
    /// Loads all plugins. Any that cannot be loaded is an error: a tool that silently is not there is worse.
    /// `broker` holds the connected accounts, as [`broker`] makes it.
    pub async fn start(config: &Config, broker: Option<Arc<Broker>>) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let connections: Arc<dyn Connections> = match broker {
            Some(broker) => broker,
            None => Arc::new(NoConnections),
        };
        let audit = audit(config)?;
        let (tracer, collector) = tracer(config, clock.clone())?;
        let metrics = Arc::new(Metrics::new());
        let loader = Arc::new(loader(config, clock.clone())?.counted_by(metrics.clone()));
        let specs: Vec<PluginSpec> = config.plugins.iter().chain(&config.agent).cloned().collect();
        let watch = FileWatch::new(specs.iter().map(|spec| spec.source.clone()));
        let mut plugins = load_all(loader.clone(), specs).await?;
        let agents = plugins.split_off(config.plugins.len());
        let changes = Changes::new();
        let shelf = Arc::new(Shelf::new(clock.clone(), changes.clone()));
        let keepers = Keepers { publisher: shelf.clone(), events: shelf.clone(), ..Keepers::none() };
        let keepers = keepers.with_state(state(config).await?);
        let model = model(config, clock.clone(), &plugins, &agents)?;
        let reserved: &[&str] = if config.fallback_tools { &[STEER_CALL] } else { &[] };
        let catalog = Catalog::beside(plugins, agents, reserved)?;
        for mention in catalog.mentions() {
            tracing::warn!("{mention}");
        }
        let catalog = Arc::new(CurrentCatalog::new(catalog, changes.clone()));
        let runner = Arc::new(
            Runner::new(clock.clone(), keepers, connections)
                .with_model(model)
                .sharing(config.per_principal)
                .with_egress(egress(config)?)
                .recorded_by(audit.clone())
                .traced_by(tracer.clone()),
        );
        let (counted, recorded) = (Arc::downgrade(&runner), audit.clone());
        let (loaded, now, engines) = (catalog.clone(), clock.clone(), loader.clone());
        metrics.on_scrape(move |levels| {
            for plugin in loaded.now().all() {
                plugin.meter.left_alone(plugin.left_alone(now.as_ref()).len());
            }
            if let Some(runner) = counted.upgrade() {
                runner.count(levels);
            }
            levels.instances.set(i64::try_from(engines.instances()).unwrap_or(i64::MAX));
            catch_up(&levels.audit_lost_records, recorded.lost());
            catch_up(&levels.trace_lost_spans, tracer.lost());
        });
        let local = Arc::new(LocalAgent::new(runner.clone(), catalog.clone()));
        let agent = Arc::new(Together::new(vec![local]));
        let upstreams = gateway::connect(&config.upstreams, &agent, &catalog, clock.clone()).await;
        Ok(Self { catalog, agent, runner, shelf, changes, clock, upstreams, audit, metrics, collector, loader, watch })
    }

    /// Ends the connections to servers behind this host, and with them the programs that were started for it; and sees
    /// what was recorded to the disk.
    pub async fn close(self) {
        futures::future::join_all(self.upstreams.iter().map(Upstream::close)).await;
        if let Some(collector) = self.collector {
            collector.close().await;
        }
        let audit = self.audit;
        // Failing is logged where it happens.
        let _ = tokio::task::spawn_blocking(move || audit.flush()).await;
    }

    /// What takes up component files that change, and what is configured and installed meanwhile, for as long as it runs.
    /// `confined` are the folders that a confined server is left with; none: it reaches what its user reaches.
    pub fn reloader(&self, config: &Config, confined: Option<&Needs>) -> Reloader {
        let files = config.file.iter().chain(&config.lock).chain(&config.withdrawn_file).cloned().collect();
        let mut followed = Followed::new(config.clone(), confined);
        let reread = Box::new(move || followed.again().map_err(|error: ConfigError| error.to_string()));
        Reloader::new(self.loader.clone(), self.catalog.clone(), self.watch.clone(), files, reread)
    }
}

/// The journal of what is decided: for a server, and for commands that decide something. Blocks.
pub fn audit(config: &Config) -> Result<Audit, StartError> {
    if config.audit.off {
        return Ok(Audit::none());
    }
    let Some(folder) = &config.audit.folder else {
        if config.audit.required {
            return Err(StartError::NoJournal);
        }
        tracing::warn!("nothing is recorded: set server.audit.folder, server.state or PORTCULLIS_STATE");
        return Ok(Audit::none());
    };
    let (journal, head) = FileJournal::open(folder, &config.audit, Arc::new(SystemClock))?;
    tracing::debug!(%head, "audit journal");
    Ok(Audit::new(Arc::new(journal)))
}

/// Who makes spans, and who sends them, if there is a collector.
fn tracer(config: &Config, clock: Arc<dyn Clock>) -> Result<(Tracer, Option<Collector>), StartError> {
    let Some(endpoint) = &config.telemetry.otlp else { return Ok((Tracer::default(), None)) };
    let (tracer, ended) = Tracer::new(move || clock.unix());
    let collector = Collector::start(Outbound::new()?, endpoint, tracer.clone(), ended);
    Ok((tracer, Some(collector)))
}

/// The broker of connected accounts, if there are any to connect. Blocks.
pub fn broker(config: &Config) -> Result<Option<Arc<Broker>>, StartError> {
    for spec in config.plugins.iter().chain(&config.agent) {
        for name in spec.grants.connections.iter().filter(|name| !config.connections.contains_key(*name)) {
            tracing::warn!(plugin = %spec.id, "the account `{name}` is granted, but there is no [connections.{name}]");
        }
    }
    if config.connections.is_empty() {
        return Ok(None);
    }
    let folder = config.state.as_deref().ok_or(StartError::NoState)?;
    Ok(Some(Arc::new(Broker::open(&config.connections, folder, Arc::new(SystemClock))?)))
}

/// What sends plugins' requests, with the secrets that go with them. A secret that is granted and not there is worth a
/// warning.
fn egress(config: &Config) -> Result<Arc<Sender>, StartError> {
    let vault = Vault::open(&config.secrets, crate::config::variable)?;
    let sender = Sender::new(Arc::new(SystemNetwork), vault);
    for spec in config.plugins.iter().chain(&config.agent) {
        for name in spec.grants.secrets.iter().map(|grant| &grant.name).filter(|name| !sender.knows(name)) {
            tracing::warn!(plugin = %spec.id, "the secret `{name}` is granted, but there is no [secrets.{name}]");
        }
    }
    Ok(Arc::new(sender))
}

/// Where plugins' values are kept, if any plugin may keep some.
async fn state(config: &Config) -> Result<Option<Arc<dyn StateStore>>, StartError> {
    if !config.keeps_state() {
        return Ok(None);
    }
    let Some(folder) = config.state.clone() else {
        tracing::warn!("plugins that are granted `state` keep nothing: set PORTCULLIS_STATE or server.state");
        return Ok(None);
    };
    let opened = tokio::task::spawn_blocking(move || State::open(&folder)).await.map_err(StartError::Task)?;
    Ok(Some(Arc::new(opened?)))
}

/// The host's own model, if there is one. A grant that counts on one in vain is worth a warning.
fn model(
    config: &Config,
    clock: Arc<dyn Clock>,
    plugins: &[Arc<Plugin>],
    agents: &[Arc<Plugin>],
) -> Result<Option<Arc<dyn ModelProvider>>, StartError> {
    let Some(settings) = &config.model else {
        for plugin in plugins.iter().chain(agents) {
            if plugin.authority.sample().is_ok_and(|grant| grant.fallback) {
                tracing::warn!(plugin = %plugin.id(), "`client.sample.fallback` has no effect: no [model] is configured");
            }
        }
        return Ok(None);
    };
    Ok(Some(Arc::new(ChatModel::open(settings, clock)?)))
}

/// A loader alone, for looking at components without serving them.
pub fn loader(config: &Config, clock: Arc<dyn Clock>) -> Result<Loader, StartError> {
    let cache = CompileCache::open(&config.cache)?;
    let worker = CompileWorker::new(worker_program()?);
    let compiler = Compiler::new(Arc::new(Engines::new()), cache, worker);
    let loader = Loader::new(compiler, clock, Arc::new(Nobody));
    loader.on(config.machine());
    loader.refuse(config.withdrawn()?);
    Ok(loader)
}

/// The compile worker is this very binary, also after another one has taken its place on the disk.
fn worker_program() -> Result<PathBuf, StartError> {
    let path = std::env::current_exe().map_err(StartError::Worker)?;
    Ok(if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { path })
}

/// Loads plugins side by side, in the order of `specs`.
async fn load_all(loader: Arc<Loader>, specs: Vec<PluginSpec>) -> Result<Vec<Arc<Plugin>>, StartError> {
    let mut loading = JoinSet::new();
    for (at, spec) in specs.into_iter().enumerate() {
        let loader = loader.clone();
        loading.spawn(async move { (at, loader.load(spec).await) });
    }
    let mut loaded: Vec<(usize, Result<Plugin, LoadError>)> = loading.join_all().await;
    loaded.sort_by_key(|(at, _)| *at);
    let (mut plugins, mut errors) = (Vec::new(), Vec::new());
    for (_, result) in loaded {
        match result {
            Ok(plugin) => plugins.push(Arc::new(plugin)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(plugins) } else { Err(StartError::Load(errors)) }
}
