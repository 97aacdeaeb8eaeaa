//! The composition root: builds the parts of a host from a [`Config`] and connects them.

mod config_reload;
mod error;
mod grant_lock;
mod loading;
mod parts;

pub use error::StartError;
pub use loading::build_loader;
pub(crate) use loading::worker_program;
pub use parts::{open_audit, open_connection_broker, open_durable_store, open_secret_search, open_shared_parking};

use crate::config::{Config, GrantConfirmation};
use config_reload::ConfigReload;
use mcp::FALLBACK_TOOLS;
use platform::audit::Audit;
use platform::changes::ChangeNotifier;
use platform::clock::{Clock, SystemClock};
use platform::confine::ConfineSettings;
use platform::durable::DurableStore;
use platform::file_descriptors;
use platform::outbound::SpanExporter;
use platform::telemetry::{Metrics, Tracer, raise_to};
use plugins::calls::{LocalTools, Programs, Runner, ToolCallerChain};
use plugins::catalog::{Catalog, CatalogRules, CurrentCatalog, MissingPlugins};
use plugins::loading::{Loader, PluginReloader};
use policy::{DataKey, PluginSpec};
use runtime::imports::{HostServices, ModelProvider, OpenFiles, ToolCaller};
use services::connections::ConnectionBroker;
use services::principal_store::PrincipalStore;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use upstream::{Upstream, gateway};

/// How long cancelled calls may take to end and to be recorded when the process ends.
const RECORD_TIMEOUT: Duration = Duration::from_secs(1);

/// The services and the model behind the imports of all calls.
pub struct Backends {
    pub services: HostServices,
    /// The model of the host's own, if one is configured.
    pub model: Option<Arc<dyn ModelProvider>>,
}

/// A running host.
pub struct Host {
    pub catalog: Arc<CurrentCatalog>,
    /// Runs the tools that plugins call.
    pub agent: Arc<dyn ToolCaller>,
    pub runner: Arc<Runner>,
    pub principal_store: Arc<PrincipalStore>,
    pub changes: ChangeNotifier,
    pub clock: Arc<dyn Clock>,
    pub upstreams: Vec<Upstream>,
    pub audit: Audit,
    pub metrics: Arc<Metrics>,
    span_exporter: Option<SpanExporter>,
    loader: Arc<Loader>,
}

impl Host {
    /// Builds everything that `config` names, and loads all plugins. Fails if one cannot be loaded.
    pub async fn start_whole(config: &Config, broker: Option<Arc<ConnectionBroker>>) -> Result<Self, StartError> {
        let (host, mut plugins) = Self::start(config, broker).await?;
        let failures = plugins.finish().await;
        if !failures.is_empty() {
            return Err(StartError::Load(failures));
        }
        host.catalog.loaded().await;
        Ok(host)
    }

    /// Builds everything that `config` names. Plugins are loaded as long as the reconciler runs, and upstream servers are
    /// connected meanwhile.
    pub async fn start(
        config: &Config,
        broker: Option<Arc<ConnectionBroker>>,
    ) -> Result<(Self, PluginReloader), StartError> {
        Self::start_behind(config, broker, |backends| backends).await
    }

    /// The same, but `wrap` may replace the backends behind the imports, such as by ones that record.
    pub async fn start_behind(
        config: &Config,
        broker: Option<Arc<ConnectionBroker>>,
        wrap: impl FnOnce(Backends) -> Backends,
    ) -> Result<(Self, PluginReloader), StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let changes = ChangeNotifier::new();
        let metrics = Arc::new(Metrics::new());
        let audit = open_audit(config)?;
        let (tracer, span_exporter) = parts::start_tracer(config, clock.clone())?;

        let loader = Arc::new(loading::build_serving_loader(config, clock.clone(), metrics.clone())?);
        let reserved: &[&str] = if config.fallback_tools { FALLBACK_TOOLS } else { &[] };
        let only = config.code.as_ref().filter(|code| code.only).map(|code| code.plugin.clone());
        let rules = CatalogRules { reserved, only };
        let empty = Catalog::starting(rules, MissingPlugins::new(), !config.upstreams.is_empty());
        let catalog = Arc::new(CurrentCatalog::new(empty, changes.clone()));
        let specs: Vec<PluginSpec> = config.plugins.iter().chain(&config.agent).cloned().collect();
        loader.warm_up(specs.iter());
        let plugins = PluginReloader::start(loader.clone(), catalog.clone(), specs);

        let principal_store = Arc::new(PrincipalStore::new(clock.clone(), changes.clone()));
        let nothing = HostServices::none();
        let services = HostServices {
            publisher: principal_store.clone(),
            events: principal_store.clone(),
            state: parts::open_state(config).await?.unwrap_or(nothing.state),
            egress: parts::open_egress(config)?,
            connections: match broker {
                Some(broker) => broker,
                None => nothing.connections,
            },
            open_files: OpenFiles::new(file_descriptors::shares().guest_files),
        };
        let Backends { services, model } =
            wrap(Backends { services, model: parts::open_model(config, clock.clone())? });
        let runner = Arc::new(
            Runner::new(clock.clone(), services)
                .with_model(model)
                .with_principal_limits(config.per_principal)
                .with_audit(audit.clone())
                .with_tracer(tracer.clone()),
        );

        if let Some(code) = &config.code {
            if !config.plugins.iter().any(|spec| spec.id == code.plugin) {
                tracing::warn!("[code] has no effect: there is no [{}], and none is installed", code.plugin.table());
            }
            let programs = Programs::new(code.plugin.clone(), code.approval, catalog.clone(), &runner);
            runner.set_tool_access(Box::new(programs));
        }
        let local_tools = Arc::new(LocalTools::new(runner.clone(), catalog.clone()));
        let agent = Arc::new(ToolCallerChain::new(vec![local_tools]));
        let upstreams = gateway::connect(&config.upstreams, &agent, &catalog, clock.clone());
        let host = Self {
            catalog,
            agent,
            runner,
            principal_store,
            changes,
            clock,
            upstreams,
            audit,
            metrics,
            span_exporter,
            loader,
        };
        host.register_metrics(tracer);
        Ok((host, plugins))
    }

    /// Loads what plugins published in earlier runs, and stores what they publish from now on. What unconfigured plugins have
    /// published is not shown.
    pub async fn keep_published(&self, config: &Config, store: Arc<dyn DurableStore>) {
        let specs = config.plugins.iter().chain(&config.agent);
        let configured: BTreeSet<DataKey> = specs.map(|spec| spec.data.clone()).collect();
        let catalog = self.catalog.clone();
        let is_there = move |data: &DataKey| {
            configured.contains(data) || catalog.snapshot().all_plugins().any(|plugin| plugin.spec.data == *data)
        };
        self.principal_store.keep_in(store, is_there).await;
    }

    /// Closes the connections to upstream servers, stops the programs that were started for them, and flushes spans and
    /// audit records. All calls are over or cancelled; those that do not end in time are missing in the audit.
    pub async fn close(self) {
        futures::future::join_all(self.upstreams.iter().map(Upstream::close)).await;
        if tokio::time::timeout(RECORD_TIMEOUT, self.runner.all_recorded()).await.is_err() {
            tracing::error!("calls that were cancelled do not end; the audit says nothing of them");
        }
        if let Some(exporter) = self.span_exporter {
            exporter.close().await;
        }
        let audit = self.audit;
        // Errors are logged by the journal.
        let _ = tokio::task::spawn_blocking(move || audit.flush()).await;
    }

    /// Updates, at each scrape of the metrics, the levels that are not counted as they change.
    fn register_metrics(&self, tracer: Tracer) {
        // Weak, so that the metrics do not keep the runner alive.
        let runner = Arc::downgrade(&self.runner);
        let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
        let (audit, loader) = (self.audit.clone(), self.loader.clone());
        self.metrics.on_scrape(move |levels| {
            for plugin in catalog.snapshot().all_plugins() {
                plugin.metrics.set_open_circuits(plugin.open_circuits(clock.as_ref()).len());
            }
            if let Some(runner) = runner.upgrade() {
                runner.update_levels(levels);
            }
            levels.instances.set(i64::try_from(loader.instance_count()).unwrap_or(i64::MAX));
            raise_to(&levels.audit_lost_records, audit.lost());
            raise_to(&levels.trace_lost_spans, tracer.lost());
        });
    }
}

/// Loads the plugins. If reloading is configured, it goes on, and loads again when they, the configuration or the lock file
/// change. `confined` names the folders that a confined server can still reach.
pub async fn load_plugins(mut plugins: PluginReloader, config: Config, confined: Option<ConfineSettings>) {
    if !config.reload {
        plugins.finish().await;
        return;
    }
    let confirmation = GrantConfirmation::for_config(&config).filter(|_| config.locks_grants).map(|it| it.file);
    let files = config.file.iter().chain(&config.lockfile).chain(&config.withdrawn_file).chain(&confirmation);
    let files = files.cloned().collect();
    let mut config = ConfigReload::new(config, confined.as_ref());
    plugins.run(files, Box::new(move || config.reload().map_err(|error| error.to_string()))).await;
}
